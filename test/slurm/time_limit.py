"""A run that takes longer than the time limit of its job: it goes on in the next turn of the job."""

import re

SECONDS = 60  # Of training. A turn has at most 40: the limit is a minute, the signal comes 20 s before.


def in_turns(docs):
    folder = docs.make_job("limit")
    job = docs.submit(folder, "--seconds", SECONDS, "--checkpoint-every", "1h",
                      options=("--time=1", "--signal=TERM@20"))
    state = docs.until_over(job, 600)
    restarts = int(docs.cluster.job_field(job, "Restarts"))
    output = docs.output(folder, job)
    went_on = [int(one.replace(",", "")) for one in re.findall(r"goes on from update ([\d,]+)", output)]
    summary = docs.summary(folder, job)
    used = summary.get("examples_used_per_epoch_min"), summary.get("examples_used_per_epoch_max")
    docs.say("time limit", "sbatch --time=1 --signal=TERM@20 train.sbatch --seconds 60",
             f"{state} after {restarts} requeues, which go on from updates "
             f"{', '.join(f'{one:,}' for one in went_on)}; {summary.get('updates', 0):,} updates; each example "
             f"used {used[0]} to {used[1]} times an epoch",
             state == "COMPLETED" and 1 <= restarts == len(went_on) and "are lost" not in output
             and used == (1, 1) and summary.get("why_ended") == "time is up")
    if not docs.rows[-1][-1]:
        print(output)
