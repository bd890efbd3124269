"""The extension module that binding.py builds."""

from typing import Any

ffi: Any
lib: Any
