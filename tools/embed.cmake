# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C++ file with the text of each file in FILES (separated by |), named by its path
# below ROOT. Run at build time: cmake -DROOT=... -DFILES=... -DOUT=... -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
set(body "// SPDX-License-Identifier: Apache-2.0\n#include \"tools/embedded.hpp\"\n\n")
string(APPEND body "namespace hvsim::tools {\n\n")
string(APPEND body "const std::vector<embedded_file>& embedded_files() {\n")
string(APPEND body "  static const std::vector<embedded_file> files{\n")
file(WRITE "${OUT}.tmp" "${body}")
foreach(path IN LISTS files)
  file(READ "${ROOT}/${path}" text)
  file(APPEND "${OUT}.tmp" "      {\"${path}\", R\"hvsim_yaml(${text})hvsim_yaml\"},\n")
endforeach()
file(APPEND "${OUT}.tmp" "  };\n  return files;\n}\n\n}  // namespace hvsim::tools\n")
file(RENAME "${OUT}.tmp" "${OUT}")
