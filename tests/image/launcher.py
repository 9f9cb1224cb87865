#!/usr/bin/env python3
"""Stands for Google's launcher of templates: calls the program with the parameters of a file."""

import json
import os
import sys

with open(sys.argv[1]) as file:
    options = [f"--{name}={value}" for name, value in json.load(file).items()]
program = os.environ["FLEX_TEMPLATE_PYTHON_PY_FILE"]
os.execvp("python3", ["python3", program, *options])
