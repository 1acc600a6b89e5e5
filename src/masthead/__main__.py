"""`python -m masthead` is the `masthead` command."""


def run() -> None:
    # Here: a process that a command starts loads this file again, and not for the command line.
    from masthead.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
