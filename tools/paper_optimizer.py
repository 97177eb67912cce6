"""The optimizer of the papers that the reproduce_*.py tools repeat, as options of these tools: SGD with
momentum, and a step schedule.

Tested by reproduce_cifar10_test.py, reproduce_staleness_test.py and reproduce_speed_up_test.py.
"""


def add_options(parser, momentum, step_at):
    """Adds --momentum and --step-at with these defaults."""
    parser.add_argument("--momentum", type=float, default=momentum,
                        help="of SGD; 0: none (default: %(default)g)")
    parser.add_argument("--step-at", type=float, default=step_at, metavar="SHARE",
                        help="of the examples, after which the rate is a tenth; 1: never "
                             "(default: %(default).3g)")


def check(parser, options):
    if not (options.lr > 0 and 0 <= options.momentum < 1 and 0 < options.step_at <= 1):
        parser.error("--lr is above 0, --momentum from 0 to below 1, and --step-at from above 0 to 1")


def arguments(options, examples):
    """The options of outpace for a run of this many examples."""
    optimizer = f"momentum:mu={options.momentum:g},over=update" if options.momentum else "sgd"
    if options.step_at == 1:
        return ["--optimizer", optimizer]
    return ["--optimizer", optimizer,
            "--schedule", f"step:every={round(options.step_at * examples)},factor=0.1"]


def words(options):
    """The same in words, for keys and headings."""
    momentum = f"momentum {options.momentum:g}" if options.momentum else "plain SGD"
    step = f", a tenth of the rate from {options.step_at:.3g}" if options.step_at < 1 else ""
    return momentum + step
