#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A million files in one directory; by hand only.
NR_FILES=1000000 exec "$(dirname "$0")/1101-many-files.sh"
