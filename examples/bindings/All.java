// SPDX-License-Identifier: MIT
// java All.java MOUNT: everything that fs-layout.md offers a language, with the JDK alone: see all.pl.
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class All {
    private static FileChannel clone;
    private static Path context;
    private static double x;

    private static void fail(String why) {
        System.err.println(why);
        System.exit(1);
    }

    private static void check(boolean holds, String what) {
        if (!holds)
            fail("not so: " + what);
        System.out.println(what);
    }

    private static FileChannel open(Path path) throws IOException {
        return FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(ByteBuffer read) {
        read.flip();
        return StandardCharsets.UTF_8.decode(read).toString().stripTrailing();
    }

    private static String get(String name) throws IOException {
        return Files.readString(context.resolve(name)).stripTrailing();
    }

    // One write is one command. The next read of the same descriptor has the sentence of an error; in
    // files that have text of their own, at any offset but 0.
    private static void put(String name, String line) throws IOException {
        try (FileChannel file = open(context.resolve(name))) {
            try {
                file.write(bytes(line));
            } catch (IOException error) {
                ByteBuffer sentence = ByteBuffer.allocate(4096);
                file.read(sentence, 1);
                fail(name + ": " + text(sentence));
            }
        }
    }

    private static String command(String line) throws IOException {
        try {
            clone.write(bytes(line));
            return null;
        } catch (IOException error) {
            ByteBuffer sentence = ByteBuffer.allocate(4096);
            clone.read(sentence);
            return text(sentence);
        }
    }

    private static void execute(String line) throws IOException {
        String sentence = command(line);
        if (sentence != null)
            fail(line + ": " + sentence);
    }

    private static MappedByteBuffer map(String name) throws IOException {
        try (FileChannel file = FileChannel.open(context.resolve(name), StandardOpenOption.READ)) {
            MappedByteBuffer memory = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size());
            memory.order(ByteOrder.nativeOrder());
            return memory;
        }
    }

    // The next message, by a thread that waits for it.
    private static CompletableFuture<String> nextMessage() {
        return CompletableFuture.supplyAsync(() -> {
            try (FileChannel events = FileChannel.open(context.resolve("events"), StandardOpenOption.READ)) {
                ByteBuffer line = ByteBuffer.allocate(256);
                events.read(line);
                return text(line);
            } catch (IOException error) {
                return error.getMessage();
            }
        });
    }

    private static void checkBuffer(long pid, long tid) throws IOException {
        // The sampling format "default": a header of 128 bytes, then samples of an entry and one value.
        MappedByteBuffer buffer = map("buffer");
        long count = buffer.getLong(0), switches = Long.parseUnsignedLong(get("pmd/0")), mine = 0;
        for (int at = 128; at < buffer.getLong(8); at += 48)
            if (buffer.getInt(at) == tid && buffer.getShort(at + 4) == 1 && buffer.getShort(at + 34) == 0
                    && buffer.getInt(at + 36) == pid
                    && Long.compareUnsigned(buffer.getLong(at + 40), switches) <= 0)
                mine++;
        check(count == mine && buffer.getLong(16) == 1, "buffer: " + count + " samples, all of this thread");
    }

    // As text and, where the kernel passes files through, as a page: PMDs of 24 bytes begin at 32.
    private static void checkLive() throws IOException {
        Matcher found = Pattern.compile("^pmd0 (\\d+)", Pattern.MULTILINE).matcher(get("set/0/live"));
        boolean same = found.find() && found.group(1).equals(get("pmd/0"));
        if (Files.readString(context.resolve("../../stats")).contains("passthrough 1"))
            same = same && map("set/0/live").getLong(32) == Long.parseUnsignedLong(get("pmd/0"));
        check(same, "live: the count of PMD 0");
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 1)
            fail("usage: All.java MOUNT");
        Path mount = Path.of(args[0]);
        // An open clone is a context. The last close removes it, even if this program is killed.
        clone = open(mount.resolve("clone"));
        ByteBuffer line = ByteBuffer.allocate(256);
        clone.read(line);
        context = mount.resolve(text(line).split(" ")[1]);
        check(get("state").equals("unloaded"), "context: made");
        System.out.println("error: " + command("start"));

        put("format", "default size=4096");
        put("pmc/0", "context-switches");
        put("pmc/1", "task-clock");
        // A sample every millisecond, with PMD 0. A full buffer masks the counters and sends a message.
        put("pmd/1", "-1000000 short=-1000000 long=-1000000 notify smpl=0");
        System.out.println("events: context-switches, task-clock");

        String[] self = Files.readSymbolicLink(Path.of("/proc/thread-self")).toString().split("/");
        execute("load tid=" + self[2]);
        execute("start");
        for (int n = 0; n < 20; n++)
            Thread.sleep(1);
        check(Long.compareUnsigned(Long.parseUnsignedLong(get("pmd/0")), 20) >= 0, "count: at least 20 context switches of 20 sleeps");

        CompletableFuture<String> message = nextMessage();
        while (!message.isDone())
            for (int n = 0; n < 1000; n++)
                x += Math.sqrt(n);
        String pmds = " pmds=1 pid=" + self[0] + " tid=" + self[2] + " ";
        check(message.get().startsWith("overflow ") && message.get().contains(pmds),
            "message: PMD 1 has overflowed in this thread");
        check(get("state").startsWith("masked "), "state: masked");
        checkBuffer(Long.parseLong(self[0]), Long.parseLong(self[2]));
        execute("stop");
        checkLive();
        System.out.println("end: the context goes with this program");
        System.in.readAllBytes();
    }
}
