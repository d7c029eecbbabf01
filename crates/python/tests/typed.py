"""mypy, strict, over the package and over an example of its use; wrong uses are told."""

import subprocess
import sys
import tempfile
from pathlib import Path

import manx

WRONG = '''
import manx
manx.run("quick", polcy="base")                       # E call-arg
manx.scenario.Gc(sfot=0.1)                            # E call-arg
manx.scenario.Gc(victim="greeedy")                    # E arg-type
s = manx.Scenario("quick")
s.gc.soft_mark = 0.1                                  # E attr-defined
s.workload.requests = "many"                          # E assignment
manx.Scenario("quick", gc={"victm": "greedy"})        # E typeddict
'''

here = Path(__file__).parent
package = Path(manx.__file__).parent


def mypy(*files: str) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
               "--cache-dir", str(package.parent / "mypy"), *files]
    return subprocess.run(command, capture_output=True, text=True).stdout


said = mypy(str(package), str(here / "example.py"))
if said:
    sys.exit(said)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "wrong.py"
    file.write_text(WRONG)
    said = mypy(str(file))
    for number, line in enumerate(WRONG.splitlines(), 1):
        if "# E " in line and f":{number}: error" not in said:
            sys.exit(f"mypy does not see that this is wrong: {line}\n{said}")
print("strict types hold, and wrong uses are seen")
