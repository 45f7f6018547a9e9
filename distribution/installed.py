"""kscope as it is installed: its packages lie in `_app`, so that site-packages has one name of it.

The modules keep the names that they have in a checkout (`engine`, `scheduling`, …): the folder is
put first on the path of whoever imports kscope.
"""

import sys
from pathlib import Path

_APP = Path(__file__).resolve().with_name("_app")
if str(_APP) not in sys.path:
    sys.path.insert(0, str(_APP))
# Beside its modules, what is there only where kscope is installed.
__path__ = [str(_APP / "kscope"), str(_APP.parent)]
