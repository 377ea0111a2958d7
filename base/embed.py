# SPDX-License-Identifier: MIT
"""Writes files as a C array of struct embedded: embed.py --name=ARRAY OUTPUT FILE..."""
import os
import sys

HEAD = """/* SPDX-License-Identifier: MIT */
#include "base/embedded.h"
"""

# Compilers need not take string literals of this length; they take arrays.
array = sys.argv[1].split("=")[1]
with open(sys.argv[2], "w") as out:
    rows = ""
    out.write(HEAD)
    for i, path in enumerate(sys.argv[3:]):
        with open(path, encoding="ascii") as f:
            data = f.read().encode()
        name = os.path.splitext(os.path.basename(path))[0]
        out.write("static const char text_%d[] = {%s};\n" % (i, ",".join(map(str, data))))
        rows += '\t{"%s", {text_%d, sizeof(text_%d)}},\n' % (name, i, i)
    out.write("extern const struct embedded %s[];\nconst struct embedded %s[] = {\n%s\t{0},\n};\n" % (array, array, rows))
