// SPDX-License-Identifier: MIT

// go run all.go MOUNT: everything that fs-layout.md offers a language, with the standard library
// alone: see all.pl.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	clone   *os.File
	context string
	order   = binary.LittleEndian
	x       float64
)

func fail(why ...interface{}) {
	fmt.Fprintln(os.Stderr, why...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fail(err)
	}
}

func check(holds bool, what string) {
	if !holds {
		fail("not so:", what)
	}
	fmt.Println(what)
}

func get(name string) string {
	text, err := os.ReadFile(context + "/" + name)
	must(err)
	return strings.TrimSpace(string(text))
}

// One write is one command. The next read of the same descriptor has the sentence of an error; in
// files that have text of their own, at any offset but 0.
func put(name, line string) {
	file, err := os.OpenFile(context+"/"+name, os.O_RDWR, 0)
	must(err)
	defer file.Close()
	if _, err := file.WriteString(line); err != nil {
		sentence := make([]byte, 4096)
		n, _ := file.ReadAt(sentence, 1)
		fail(name+":", string(sentence[:n]))
	}
}

func command(line string) string {
	_, err := clone.WriteString(line)
	if err == nil {
		return ""
	}
	sentence := make([]byte, 4096)
	n, _ := clone.Read(sentence)
	if n == 0 { // a removed context leaves none
		return err.Error()
	}
	return strings.TrimSpace(string(sentence[:n]))
}

func execute(line string) {
	if sentence := command(line); sentence != "" {
		fail(line+":", sentence)
	}
}

func switches() uint64 {
	count, err := strconv.ParseUint(get("pmd/0"), 10, 64)
	must(err)
	return count
}

func mapped(name string) []byte {
	file, err := os.Open(context + "/" + name)
	must(err)
	defer file.Close()
	info, err := file.Stat()
	must(err)
	memory, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	must(err)
	return memory
}

// Sends the next message, by a goroutine that waits for it.
func nextMessage() <-chan string {
	found := make(chan string, 1)
	go func() {
		events, err := os.Open(context + "/events")
		must(err)
		line := make([]byte, 256)
		n, err := events.Read(line)
		must(err)
		found <- string(line[:n])
	}()
	return found
}

func workUntil(found <-chan string) string {
	for {
		select {
		case message := <-found:
			return message
		default:
			for n := 0; n < 1000; n++ {
				x += math.Sqrt(float64(n))
			}
		}
	}
}

// The sampling format "default": a header of 128 bytes, then samples of an entry and one value.
func checkBuffer(pid, tid int) {
	buffer := mapped("buffer")
	count, end, mine := order.Uint64(buffer), order.Uint64(buffer[8:]), uint64(0)
	for at := uint64(128); at < end; at += 48 {
		if s := buffer[at:]; int(order.Uint32(s)) == tid && order.Uint16(s[4:]) == 1 &&
			order.Uint16(s[34:]) == 0 && int(order.Uint32(s[36:])) == pid && order.Uint64(s[40:]) <= switches() {
			mine++
		}
	}
	check(count == mine && order.Uint64(buffer[16:]) == 1,
		fmt.Sprintf("buffer: %d samples, all of this thread", count))
}

// As text and, where the kernel passes files through, as a page: PMDs of 24 bytes begin at 32.
func checkLive(stats string) {
	found := regexp.MustCompile(`(?m)^pmd0 (\d+)`).FindStringSubmatch(get("set/0/live"))
	same := found != nil && found[1] == get("pmd/0")
	text, err := os.ReadFile(stats)
	must(err)
	if strings.Contains(string(text), "passthrough 1") {
		same = same && strconv.FormatUint(order.Uint64(mapped("set/0/live")[32:]), 10) == get("pmd/0")
	}
	check(same, "live: the count of PMD 0")
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: all MOUNT")
	}
	// This goroutine keeps its thread, which is measured.
	runtime.LockOSThread()
	mount := os.Args[1]

	// An open clone is a context. The last close removes it, even if this program is killed.
	var err error
	clone, err = os.OpenFile(mount+"/clone", os.O_RDWR, 0)
	must(err)
	line := make([]byte, 256)
	n, err := clone.Read(line)
	must(err)
	context = mount + "/" + strings.Fields(string(line[:n]))[1]
	check(get("state") == "unloaded", "context: made")
	fmt.Println("error:", command("start"))

	put("format", "default size=4096")
	put("pmc/0", "context-switches")
	put("pmc/1", "task-clock")
	// A sample every millisecond, with PMD 0. A full buffer masks the counters and sends a message.
	put("pmd/1", "-1000000 short=-1000000 long=-1000000 notify smpl=0")
	fmt.Println("events: context-switches, task-clock")

	pid, tid := os.Getpid(), syscall.Gettid()
	execute(fmt.Sprintf("load tid=%d", tid))
	execute("start")
	for n := 0; n < 20; n++ {
		time.Sleep(time.Millisecond)
	}
	check(switches() >= 20, "count: at least 20 context switches of 20 sleeps")

	message := workUntil(nextMessage())
	check(strings.HasPrefix(message, "overflow ") &&
		strings.Contains(message, fmt.Sprintf(" pmds=1 pid=%d tid=%d ", pid, tid)),
		"message: PMD 1 has overflowed in this thread")
	check(strings.HasPrefix(get("state"), "masked "), "state: masked")
	checkBuffer(pid, tid)
	execute("stop")
	checkLive(mount + "/stats")
	fmt.Println("end: the context goes with this program")
	io.Copy(io.Discard, os.Stdin)
}
