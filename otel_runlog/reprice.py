"""What stored calls cost by the price tables of today: `reprice`.

Each counted step is priced again from its columns with the rates of the day it started on. A run in which that changed
something gets a new version; what was reported stays the cost. An estimate that no table can make any more stays, with
the table it names: a price list that is not at hand is no reason to forget what a call cost.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

import msgspec

from otel_runlog.counting import cost_of_step, usage_of_rollup
from otel_runlog.maintenance import BEGIN, PATIENCE_S, PAUSE_S
from otel_runlog.model import Cost, CostStatus, StepKind, Usage, UsageSource
from otel_runlog.pricing import Priced, PriceTable
from otel_runlog.runs import cost_of_run
from otel_runlog.store.columns import ns_of, stored_usd
from otel_runlog.store.model_days import day_of
from otel_runlog.store.repricing import (
    AgentChange,
    AgentRow,
    CostedStep,
    ModelDayChange,
    RepricedBatch,
    RepricingStore,
    RunChange,
    RunKey,
    StepChange,
)
from otel_runlog.tree import MODEL_KINDS

PRICE_NOTES = ("cache_ttl_assumed", "service_tier_unknown", "service_tier_assumed")
"""Codes of the notes that come from pricing."""
TURN_S = 1.0
"""The store is held for so long and a batch more, or until one was written; then whoever waits for it has it first.

The second commit of a turn would leave its rows behind a row group that is not full, and the checkpoint write them all
again: 24.5 us a step with two commits of 32,768 steps, 20.5 with one of 65,536.
"""

_ZERO = Decimal(0)


class CostChange(msgspec.Struct, frozen=True, gc=False):
    """The cost of a step before and after; None: there was no price. The table is the one that priced it now."""

    span_id: str
    cost_before: Decimal | None
    cost_after: Decimal | None
    run_id: str
    model: str | None
    price_table: str | None
    price_version: str | None


class RepriceReport(msgspec.Struct):
    """How far repricing has come.

    Attributes:
        runs: runs looked at.
        steps: steps priced again.
        changed: steps of which the cost, the estimate beside a reported cost, or the status changed.
        runs_changed: runs that these belong to.
        kept: steps that keep an estimate because no table has a price for them now.
        covered: calls that stay without a price because another step of their run reports a cost of its own, which
            counts as long as nothing below it has one (DESIGN rule 6).
    """

    runs: int = 0
    steps: int = 0
    changed: int = 0
    runs_changed: int = 0
    kept: int = 0
    covered: int = 0


def reprice(
    db: str | os.PathLike[str],
    prices: PriceTable,
    *,
    since: dt.datetime | None = None,
    dry_run: bool = False,
    on_batch: Callable[[Sequence[CostChange], RepriceReport], None] | None = None,
    timeout_s: float = 2.0,
) -> RepriceReport:
    """Price every stored step again, and write what changed: in batches, each of them committed or not at all.

    Stopped at any point and begun again, it goes on with what is left; done again, it changes nothing.

    Args:
        db: the store.
        prices: the tables; of a step's day, in UTC, the rates as of its start.
        since: only steps that started then or later.
        dry_run: write nothing.
        on_batch: called after each batch with the costs that changed and the report so far.
        timeout_s: how long to wait for another process to let go of the store.

    Raises:
        StoreLockedError: another process holds the store for longer than that.
        StoreError: the store cannot be used; the batches before are kept.
    """
    work = _Work(prices, ns_of(since), on_batch or (lambda _changes, _report: None), write=not dry_run)
    while not work.turn(db, timeout_s):
        timeout_s = PATIENCE_S
        time.sleep(PAUSE_S)
    return work.report


class _Work:
    """Where repricing is, and what it has found."""

    def __init__(
        self,
        prices: PriceTable,
        since_ns: int | None,
        on_batch: Callable[[Sequence[CostChange], RepriceReport], None],
        *,
        write: bool,
    ) -> None:
        self._prices, self._since_ns, self._on_batch, self._write = prices, since_ns, on_batch, write
        self._after = BEGIN
        self._told: list[CostChange] = []
        self.report = RepriceReport()

    def turn(self, db: str | os.PathLike[str], timeout_s: float) -> bool:
        """Work for a while; whether that was all."""
        with RepricingStore(db, timeout_s, write=self._write) as store:
            until = time.monotonic() + TURN_S
            while time.monotonic() < until:
                runs = store.next_runs(self._after, self._since_ns)
                if not runs:
                    return True
                is_written = self._reprice(store, runs)
                self._after = (runs[-1].at_ns, runs[-1].run_id)
                if is_written:
                    break
        return False

    def _reprice(self, store: RepricingStore, runs: Sequence[RunKey]) -> bool:
        """Price the steps of these runs again; whether something was written."""
        steps = defaultdict[str, list[CostedStep]](list)
        for step in store.steps_of(runs):
            steps[step.run_id].append(step)
        batch, self._told = RepricedBatch([], [], [], []), []
        changed = [run for run in runs if self._reprice_run(run, steps[run.run_id], batch)]
        if changed:
            batch.agents = list(_agent_changes(store.agents_of(changed), steps))
            batch.models = [day for run in changed if not run.is_open for day in _model_days(run, steps[run.run_id])]
            if self._write:
                store.write(batch, time.time_ns())
        self.report.runs += len(runs)
        self._on_batch(self._told, self.report)
        return bool(changed) and self._write

    def _reprice_run(self, run: RunKey, steps: Sequence[CostedStep], batch: RepricedBatch) -> bool:
        """Price the steps of a run; whether that changed anything. The steps then are as they should be."""
        covered = any(map(_reports_for_others, steps))
        changed = [step for step in steps if self._reprice_step(step, covered=covered)]
        if changed:
            batch.steps += map(_step_change, changed)
            batch.runs.append(_run_change(run, steps))
            self.report.changed += len(changed)
            self.report.runs_changed += 1
        return bool(changed)

    def _reprice_step(self, step: CostedStep, *, covered: bool) -> bool:
        usage = _usage_to_price(step)
        if usage is None or (self._since_ns is not None and (step.started_ns or 0) < self._since_ns):
            return False
        self.report.steps += 1
        priced = self._price(step, usage)
        if priced.cost.usd is None and step.estimated_usd is not None:
            self.report.kept += 1
            return False
        cost = cost_of_step(_decimal(step.reported_usd), priced.cost, has_usage=True)
        estimated_usd = stored_usd(cost.estimated_usd)
        if estimated_usd == step.estimated_usd and cost.status == step.cost_status:
            return False
        if covered and step.cost_usd is None and cost.usd is not None:
            self.report.covered += 1
            return False
        before = step.cost_usd
        _take(step, cost, estimated_usd, priced)
        if before != step.cost_usd:
            self._told.append(_cost_change(step, before))
        return True

    def _price(self, step: CostedStep, usage: Usage) -> Priced:
        return self._prices.price(
            provider=step.provider,
            models=(step.response_model, step.request_model),
            usage=usage,
            at_ns=step.started_ns,
            kind=StepKind(step.kind),
            service_tier=step.service_tier,
        )


def _usage_to_price(step: CostedStep) -> Usage | None:
    """None for steps that no price table prices: those without usage, and tools and agents with a cost of their own."""
    is_rollup = step.usage_source == UsageSource.ROLLUP
    if not is_rollup and step.kind not in MODEL_KINDS:
        return None
    usage = Usage(
        step.input_tokens,
        step.output_tokens,
        step.cache_read_tokens,
        step.cache_write_tokens,
        step.reasoning_tokens,
        step.cache_write_5m_tokens,
        step.cache_write_1h_tokens,
    )
    if not usage:
        return None
    return usage_of_rollup(usage) if is_rollup else usage


def _reports_for_others(step: CostedStep) -> bool:
    """Whether a step's cost counts because nothing below it had one: a price below it would count the same twice."""
    return step.kind not in MODEL_KINDS and step.cost_usd is not None


def _take(step: CostedStep, cost: Cost, estimated_usd: str | None, priced: Priced) -> None:
    """Give a step its new cost; a reported one stays."""
    step.estimated_usd, step.cost_status = estimated_usd, cost.status
    if step.reported_usd is None:
        step.cost_usd = estimated_usd
    step.price_table, step.price_version, step.cost = cost.table, cost.version, cost
    step.notes = _with_price_notes(step.notes or [], priced)


def _step_change(step: CostedStep) -> StepChange:
    return StepChange(
        step.is_open,
        step.row,
        step.cost_usd,
        step.estimated_usd,
        step.cost_status,
        step.price_table,
        step.price_version,
        step.notes,
    )


def _cost_change(step: CostedStep, before: str | None) -> CostChange:
    return CostChange(
        step.span_id,
        _decimal(before),
        _cost(step).usd,
        step.run_id,
        step.model,
        step.price_table,
        step.price_version,
    )


def _is_price_note(note: str) -> bool:
    return note.startswith(PRICE_NOTES)


def _with_price_notes(notes: list[str], priced: Priced) -> list[str] | None:
    """A step's notes with those of its new price. Which tier was asked for, only the old ones know."""
    if not (notes or priced.notes):
        return None
    asked = [note for note in notes if note.startswith("service_tier_assumed")] if priced.cost.usd is not None else []
    new = [*priced.notes, *asked]
    if [note for note in notes if _is_price_note(note)] == new:
        return notes or None
    return [note for note in notes if not _is_price_note(note)] + new or None


def _run_change(run: RunKey, steps: Iterable[CostedStep]) -> RunChange:
    costs = [_cost(step) for step in steps]
    total = cost_of_run(costs, missing=run.missing, replayed=False)
    unpriced = [step for step in steps if step.cost_status == CostStatus.UNPRICED]
    told = dict.fromkeys(note for step in steps for note in step.notes or () if _is_price_note(note))
    notes = [note for note in run.notes or () if not _is_price_note(note) or note in told]
    return RunChange(
        is_open=run.is_open,
        run_id=run.run_id,
        version=run.version,
        cost_usd=stored_usd(total.usd),
        estimated_cost_usd=stored_usd(total.estimated_usd),
        cost_status=total.status,
        price_table=total.table,
        price_version=total.version,
        unpriced_calls=len(unpriced),
        unpriced_models=sorted({step.model for step in unpriced if step.model}) or None,
        notes=list(dict.fromkeys([*notes, *told])) or None,
    )


def _model_days(run: RunKey, steps: Iterable[CostedStep]) -> Iterable[ModelDayChange]:
    """What `model_days` sums of costs, of the steps as they are now."""
    days: dict[tuple[int | None, str | None, str | None], list[CostedStep]] = {}
    for step in steps:
        if step.kind in MODEL_KINDS:
            days.setdefault((day_of(step.started_ns), step.provider, step.model), []).append(step)
    for key, calls in days.items():
        known = [_decimal(step.cost_usd) or _ZERO for step in calls if step.cost_usd is not None]
        unpriced = sum(step.cost_status == CostStatus.UNPRICED for step in calls)
        yield ModelDayChange(run.run_id, run.version, *key, stored_usd(sum(known, _ZERO)) if known else None, unpriced)


def _cost(step: CostedStep) -> Cost:
    if step.cost is None:
        step.cost = Cost(
            _decimal(step.cost_usd),
            CostStatus(step.cost_status),
            step.price_table,
            step.price_version,
            _decimal(step.reported_usd),
            _decimal(step.estimated_usd),
        )
    return step.cost


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _agent_changes(agents: Iterable[AgentRow], steps: defaultdict[str, list[CostedStep]]) -> Iterator[AgentChange]:
    """Own and inclusive costs of all agents of the runs, as `agents.agents_of` has them."""
    by_run = defaultdict[str, list[AgentRow]](list)
    for agent in agents:
        by_run[agent.run_id].append(agent)
    for run_id, rows in by_run.items():
        own = _own_costs(steps[run_id], {row.agent for row in rows}, rows[0].agent)
        inclusive = _inclusive_costs(rows, own)
        for row in rows:
            yield AgentChange(
                row.is_open, row.row, stored_usd(own.get(row.agent)), stored_usd(inclusive.get(row.agent))
            )


def _own_costs(steps: Iterable[CostedStep], known: set[str], top: str) -> dict[str, Decimal]:
    costs: dict[str, Decimal] = {}
    for step in steps:
        if (usd := _cost(step).usd) is not None:
            agent = step.agent if step.agent in known else top
            costs[agent] = costs.get(agent, _ZERO) + usd
    return costs


def _inclusive_costs(agents: Iterable[AgentRow], own: dict[str, Decimal]) -> dict[str, Decimal]:
    """Each agent's own cost and that of all below it: the deepest give theirs on first."""
    costs = dict(own)
    for row in sorted(agents, key=lambda row: -row.depth):
        if row.parent_agent is not None and row.agent in costs:
            costs[row.parent_agent] = costs.get(row.parent_agent, _ZERO) + costs[row.agent]
    return costs
