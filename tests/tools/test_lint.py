#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants violations of one rule of tools/lint in a small clean tree: each must be found, and nothing else.

usage: test_lint.py RULE | clean
"""

import pathlib
import subprocess
import sys
import tempfile

LINT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

# A tree without findings, with near misses of every rule in it.
CLEAN = {
    "include/quantjit/version.hpp": SPDX + "#pragma once\n"
    "#define QUANTJIT_VERSION_MAJOR 1\n#define QUANTJIT_VERSION_MINOR 2\n#define QUANTJIT_VERSION_PATCH 3\n"
    'inline constexpr const char* kVersion = "1.2.3";\n',
    "include/quantjit/arch.hpp": SPDX + "#pragma once\n#include <quantjit/version.hpp>\n#include <cstdint>\n",
    "src/base/settings.cpp": SPDX + '#include "src/base/settings.hpp"\nauto a = std::getenv("A");\n',
    "src/base/settings.hpp": SPDX + "#pragma once\n",
    "src/nvrtc/nvrtc.cpp": SPDX + '#include "src/base/settings.hpp"\n#include <fmt/format.h>\n'
    '// std::cout, getenv( and system( in a comment\nauto b = "printf(%d) system(x)";\n'
    'auto c = R"(popen("x") // )";\nint d = 1\'000; const char e = \'"\';\nfile_system(d); x.system(d);\n'
    'std::snprintf(f, 1, "g"); std::fprintf(file, "h");\n',
    "src/nvrtc/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n"
    "quantjit_module(nvrtc\n  SOURCES nvrtc.cpp\n  DEPENDS base\n  LIBRARIES quantjit_thirdparty)\n",
    "kernels/params.h": SPDX + "#pragma once\n#ifndef __CUDACC_RTC__\n#include <cstdint>\n#endif\n",
    "kernels/quant.cuh": SPDX + '#pragma once\n#include "params.h"\n',
    "tools/check": "#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n",
    "README.md": "quantjit 1.2.3\n",
}

# Each rule's violations: the file, what it becomes, and the line of the finding.
PLANTED = {
    "module-graph": [
        ("src/nvrtc/nvrtc.cpp", SPDX + '#include "cache/store.hpp"\n', 2),
        ("cache/store.cpp", SPDX + '\n#include "src/driver/library.hpp"\n', 3),
        ("src/base/settings.cpp", SPDX + "#include <src/traits/text.hpp>\n", 2),
        ("include/quantjit/arch.hpp", SPDX + "#pragma once\n#include <src/base/settings.hpp>\n", 3),
        ("tools/cli/main.cpp", SPDX + '#include "src/service/tiers.hpp"\n', 2),
        ("src/unknown/a.cpp", SPDX, 1),
    ],
    "module-links": [
        (
            "src/nvrtc/CMakeLists.txt",
            "# SPDX-License-Identifier: Apache-2.0\nquantjit_module(nvrtc SOURCES a.cpp DEPENDS base driver)\n",
            1,
        ),
        (
            "cache/CMakeLists.txt",
            "# SPDX-License-Identifier: Apache-2.0\nquantjit_module(cache DEPENDS nvrtc LIBRARIES x)\n",
            1,
        ),
    ],
    "public-headers": [
        ("include/quantjit/arch.hpp", SPDX + "#pragma once\n#include <cuda.h>\n", 3),
        ("include/quantjit/arch.hpp", SPDX + "#pragma once\n\n#include <boost/any.hpp>\n", 4),
        ("include/quantjit/arch.hpp", SPDX + '#pragma once\n#include "version.hpp"\n', 3),
    ],
    "third-party-in-headers": [
        ("src/base/settings.hpp", SPDX + "#pragma once\n#include <fmt/format.h>\n", 3),
        ("tools/cli/a.hpp", SPDX + "#pragma once\n#include <nlohmann/json.hpp>\n", 3),
    ],
    "kernels-self-contained": [
        ("kernels/quant.cuh", SPDX + "#pragma once\n#include <cuda_fp8.h>\n", 3),
        ("kernels/quant.cuh", SPDX + "#pragma once\n#include QUANTJIT_FILE\n", 3),
        ("kernels/quant.cuh", SPDX + '#pragma once\n#include "../src/base/file.hpp"\n', 3),
        ("kernels/params.h", SPDX + "#pragma once\n#ifndef __CUDACC_RTC__\n#else\n#include <cstdint>\n#endif\n", 5),
        ("kernels/params.h", SPDX + "#pragma once\n#ifndef __CUDACC_RTC__\n#endif\n#include <cstdint>\n", 5),
    ],
    "environment": [
        ("src/nvrtc/nvrtc.cpp", SPDX + '\nauto a = std::getenv("A");\n', 3),
        ("cache/store.cpp", SPDX + 'auto a = ::secure_getenv ("A");\n', 2),
    ],
    "printing": [
        ("src/nvrtc/nvrtc.cpp", SPDX + "std::cout << 1;\n", 2),
        ("src/nvrtc/nvrtc.cpp", SPDX + '/* one\n two */ printf("a");\n', 3),
        ("src/nvrtc/nvrtc.cpp", SPDX + 'auto a = "//"; std::puts("a");\n', 2),
        ("cache/store.cpp", SPDX + 'fmt::print("a");\n', 2),
        ("include/quantjit/arch.hpp", SPDX + "#pragma once\n\nstd::cerr << 1;\n", 4),
    ],
    "shell": [
        ("src/nvrtc/nvrtc.cpp", SPDX + 'int a = std::system("ls");\n', 2),
        ("tools/cli/main.cpp", SPDX + 'FILE* a = popen("ls", "r");\n', 2),
    ],
    "pragma-once": [("src/base/settings.hpp", SPDX + "int a;\n", 1)],
    "spdx": [
        ("src/base/settings.cpp", "int a;\n", 1),
        ("tools/check", "#!/usr/bin/env bash\nset -e\n", 1),
        ("src/nvrtc/CMakeLists.txt", "quantjit_module(nvrtc)\n", 1),
        ("kernels/quant.cuh", "#pragma once\n" + SPDX, 1),
        ("tests/unit/empty.cpp", "", 1),
    ],
    "file-length": [("src/base/settings.cpp", SPDX + "int a;\n" * 400, 401)],
    "version": [
        ("README.md", "\nquantjit 1.2.4\n", 2),
        (
            "include/quantjit/version.hpp",
            CLEAN["include/quantjit/version.hpp"].replace("PATCH 3", "PATCH 4"),
            6,
        ),
        ("tools/python/pyproject.toml", 'version = "1.2"\n', 1),
    ],
}


def lint(changes):
    """Exit status and findings of tools/lint on the clean tree with `changes`."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**CLEAN, **changes}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        run = subprocess.run([LINT, "--root", root], capture_output=True, text=True, check=False)
        findings = [line for line in run.stdout.splitlines() if line.count(":") >= 3]
        return run.returncode, findings, run.stdout + run.stderr


def main(rule):
    if rule == "clean":
        status, findings, output = lint({})
        assert status == 0 and not findings, f"findings in a clean tree:\n{output}"
        return
    assert PLANTED.get(rule), f"tools/lint has a rule {rule} that no violation was written for"
    for path, text, line in PLANTED[rule]:
        status, findings, output = lint({path: text})
        own = [finding for finding in findings if finding.startswith(f"{path}:{line}: {rule}: ")]
        assert status == 1, f"{rule} let this pass in {path}:\n{text}\n{output}"
        assert own, f"{rule} did not report {path}:{line}:\n{text}\n{output}"
        others = [finding for finding in findings if f": {rule}: " not in finding]
        if rule in ("module-graph", "public-headers"):  # a wrong include may break both
            others = [finding for finding in others if "public-headers" not in finding and "graph" not in finding]
        assert not others, f"unexpected findings:\n{others}"


if __name__ == "__main__":
    main(sys.argv[1])
