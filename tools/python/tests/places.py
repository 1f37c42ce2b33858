# SPDX-License-Identifier: Apache-2.0
"""Where things are, for whoever needs no more: importing this changes nothing."""

import os
import pathlib

SOURCE = pathlib.Path(os.environ.get("SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]))
