"""`python -m masthead` is the `masthead` command."""


def run() -> None:
    # Imported here: processes that a command starts import this file again, without the CLI.
    from masthead.service.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
