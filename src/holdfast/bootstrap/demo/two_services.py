"""Sets up the demo of two services: a Hold Service, the Inventory Service that counts its tickets,
and RabbitMQ between them. Each service has a database and a key of its own."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import msgspec

from holdfast.adapters.embedded import EmbeddedPostgres, EmbeddedServiceError, EmbeddedValkey
from holdfast.adapters.embedded.files import kept_password, write_private
from holdfast.adapters.embedded.rabbit import EmbeddedRabbit
from holdfast.adapters.embedded.service import EmbeddedService
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.demo import sale
from holdfast.bootstrap.demo.service_process import Command, ServiceProcess
from holdfast.bootstrap.demo.setup import Report, known_facts
from holdfast.bootstrap.demo.watch import ServiceWatch
from holdfast.bootstrap.settings import Settings

__all__ = ["EmbeddedServiceError", "keep_running", "two_services"]

DIRECTORY, FILE = "services", "services.json"
HOLDS, INVENTORY = "holdfast", "inventory"  # the databases
LOOK_EVERY_SECONDS = 0.2

# What people and other programs need: addresses, keys and ids.
Facts = dict[str, str]


@contextmanager
def two_services(
    settings: Settings, inventory_port: int, report: Report
) -> Iterator[tuple[Facts, list[ServiceProcess]]]:
    """Start everything, with its files in `services` below HOLDFAST_HOME, and stop it at the end.
    May raise EmbeddedServiceError."""
    home = settings.home / DIRECTORY
    home.mkdir(parents=True, exist_ok=True)
    with ExitStack() as running:
        postgres, brokers = _start_stores(settings, home, running, report)
        facts = brokers | _load(settings, postgres, home, report)
        address = f"http://{settings.holdfast_host}:"
        facts["hold_url"] = f"{address}{settings.holdfast_port}"
        facts["inventory_url"] = f"{address}{inventory_port}"
        commands = _commands(settings, inventory_port, postgres, facts, home)
        processes = [ServiceProcess(command, home) for command in commands]
        for process in processes:
            report(f"Starting the {process.title} ...")
            running.callback(process.stop)
            process.start()
        for process in processes:
            process.wait_until_it_listens()
        write_private(home / FILE, json.dumps(facts, indent=2) + "\n")
        program = Path(sys.executable).with_name("holdfast")
        yield {**facts, "home": str(home), "program": str(program)}, processes


def keep_running(processes: list[ServiceProcess], stopped: Event, report: Report) -> None:
    """Until stopped, start each service again that has ended."""
    while not stopped.wait(LOOK_EVERY_SECONDS):
        for process in processes:
            news = process.tend()
            if news is not None:
                report(news)


def _start_stores(
    settings: Settings, home: Path, running: ExitStack, report: Report
) -> tuple[EmbeddedPostgres, Facts]:
    """PostgreSQL, and the brokers that no variable names."""
    report("Starting PostgreSQL ...")
    postgres = running.enter_context(EmbeddedPostgres(home / "postgres"))
    postgres.ensure_database(INVENTORY)
    services: list[EmbeddedService] = [postgres]
    redis_url, amqp_url = settings.redis_url, settings.amqp_url
    if redis_url is None:
        report("Starting Valkey ...")
        valkey = running.enter_context(EmbeddedValkey(home / "valkey"))
        services.append(valkey)
        redis_url = valkey.url
    if amqp_url is None:
        report("Starting RabbitMQ (the first start may have to download it) ...")
        rabbit = running.enter_context(EmbeddedRabbit(home / "rabbitmq", home / "debian"))
        services.append(rabbit)
        amqp_url = rabbit.url
    running.enter_context(ServiceWatch(services, report))
    return postgres, {"redis_url": redis_url, "amqp_url": amqp_url}


def _load(settings: Settings, postgres: EmbeddedPostgres, home: Path, report: Report) -> Facts:
    """Migrate both databases, and put the same tickets on sale in both."""
    known = known_facts(home / FILE)
    stores = {
        database: msgspec.structs.replace(
            settings,
            database_url=postgres.server_url_of(database),
            holdfast_owner_database_url=postgres.owner_url_of(database),
        )
        for database in (HOLDS, INVENTORY)
    }
    for store in stores.values():
        migrate(store, report=report)
    return {
        "hold_key": sale.load_general_admission(stores[HOLDS], known.get("hold_key")),
        "inventory_key": sale.load_stock(stores[INVENTORY], known.get("inventory_key")),
        "session_id": str(sale.DEMO_SESSION_ID),
        "ticket_type_id": str(sale.DEMO_SMALL_ID),
    }


def _commands(
    settings: Settings, inventory_port: int, postgres: EmbeddedPostgres, facts: Facts, home: Path
) -> tuple[Command, Command]:
    """Those of both services."""
    shared = {
        "AMQP_URL": facts["amqp_url"],
        "REDIS_URL": facts["redis_url"],
        "HOLDFAST_SECRET_KEY": settings.holdfast_secret_key or kept_password(home / "secret_key"),
    }

    def command(name: str, word: str, port: int, database: str, **more: str) -> Command:
        variables = {
            **shared,
            "DATABASE_URL": postgres.server_url_of(database),
            "HOLDFAST_OWNER_DATABASE_URL": postgres.owner_url_of(database),
            "HOLDFAST_PORT": str(port),
            **more,
        }
        title = f"{name.capitalize()} Service"
        return Command(title, name, (word,), variables, settings.holdfast_host, port)

    return (
        command("inventory", "inventory", inventory_port, INVENTORY),
        command(
            "hold",
            "serve",
            settings.holdfast_port,
            HOLDS,
            HOLDFAST_INVENTORY_URL=facts["inventory_url"],
            HOLDFAST_INVENTORY_KEY=facts["inventory_key"],
        ),
    )
