import os
import time
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.contract.test_stores_agree import StoresAgree
from tests.contract.wishes import POLICIES


def test_explore(fresh_database_url):
    StoresAgree.database_url = fresh_database_url
    StoresAgree.policy = POLICIES[os.environ.get("POL", "waiting")]
    begin = time.time()
    try:
        run_state_machine_as_test(
            StoresAgree,
            settings=settings(
                max_examples=int(os.environ.get("N", "8")),
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate,),
                database=None,
                print_blob=False,
            ),
        )
    finally:
        print("TOOK", time.time() - begin)
