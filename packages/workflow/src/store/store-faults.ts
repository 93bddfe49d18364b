import assert from "node:assert/strict";
import { type Act, Session } from "./store-model.ts";
import type { LogName } from "./store.ts";
import {
  end,
  question,
  readAll,
  recordsIn,
  refused,
  startRecord,
  step,
  type Trial,
} from "./store-trial.ts";

/** Calls of a worker on a thread that asks once and ends. */
const script: Act[] = [
  { do: "create" },
  { do: "claim" },
  { do: "event", seq: 1 },
  { do: "append", ...step("one") },
  { do: "journal", record: '{"turn":1}' },
  { do: "value", json: '"a long value"' },
  { do: "event", seq: 2 },
  { do: "blob", bytes: new Uint8Array([1, 2]) },
  { do: "journal", record: '{"turn":2}' },
  { do: "append", ...step("two") },
  { do: "pause", paused: true },
  { do: "renew" },
  { do: "pause", paused: false },
  { do: "append", ...question(null) },
  { do: "event", seq: 3 },
  { do: "release" },
  { do: "claim" },
  { do: "append", ...step("three") },
  { do: "journal", record: '{"turn":3}' },
  { do: "append", ...end() },
  { do: "event", seq: 4 },
  { do: "release" },
];

/** Rules for crashed processes and damaged media. */
export const faultRules = {
  async "a holder that dies between any two calls loses no acknowledged write"(trial: Trial) {
    const { deathsEvery = 1 } = trial.under;
    for (let at = 0; at <= script.length; at += deathsEvery) await dieAt(trial, at, false);
  },

  async "a call is applied whole or not at all when its holder dies during the call"(trial: Trial) {
    const { deathsEvery = 1 } = trial.under;
    for (let at = 0; at < script.length; at += deathsEvery) await dieAt(trial, at, true);
  },

  async "half a record at the end of a log is cut off, and reported once"(trial: Trial) {
    const { under } = trial;
    if (!under.tear) return;
    for (const log of ["data", "journal"] satisfies LogName[]) {
      const ref = trial.ref();
      await trial.create({}, ref);
      const holder = await trial.open();
      const first = await trial.claim(ref, holder);
      await first.append(step("one").record, step("one").state);
      await first.journal('{"turn":1}');
      const before = await readAll(trial.store, ref, log);
      await under.die(holder);
      await under.tear(ref, log, step("torn").record);
      assert.deepEqual(
        await readAll(trial.store, ref, log),
        before,
        "readers do not see the half record",
      );
      const next = await trial.succeed(ref, trial.store);
      assert.equal(next.cut?.log, log);
      assert.ok(next.cut.bytes > 0);
      await next.append(step("two").record, step("two").state);
      await next.journal('{"turn":2}');
      assert.deepEqual((await recordsIn(trial.store, ref, "data")).slice(1), [
        step("one").record,
        step("two").record,
      ]);
      assert.deepEqual(await recordsIn(trial.store, ref, "journal"), ['{"turn":1}', '{"turn":2}']);
      await next.release();
      const last = await trial.claim(ref);
      assert.equal(last.cut, null);
      await last.release();
    }
  },

  async "a changed byte is detected before the thread changes"(trial: Trial) {
    const { under } = trial;
    if (!under.damage) return;
    for (const log of ["data", "journal"] satisfies LogName[]) {
      const ref = trial.ref();
      const records = [startRecord(ref, 1), step("one").record, step("two").record];
      await trial.create({ records, journal: ['{"turn":1}', '{"turn":2}', '{"turn":3}'] }, ref);
      await under.damage(ref, log, 1);
      const store = await trial.open();
      await refused(() => trial.claim(ref, store), "LOG_CORRUPT");
    }
  },
};

/** Runs the script up to a call, ends its process before or during that call, and continues in another process. */
async function dieAt(trial: Trial, at: number, isWithin: boolean): Promise<void> {
  const session = new Session(trial, trial.ref());
  const { model, ref } = session;
  const store = await trial.open();
  for (const act of script.slice(0, at)) await session.do(act, store);
  let next = at;
  const act = script[at];
  if (isWithin && act) {
    const acknowledged: (() => void)[] = [];
    const noted = (note: () => void): unknown => acknowledged.push(note);
    session.call(act, store).then(noted, () => undefined);
    await trial.under.die(store);
    for (const note of acknowledged) note();
    const isDone = acknowledged.length > 0 || (await session.adopt(act, trial.store));
    if (isDone) next += 1;
  } else {
    await trial.under.die(store);
  }
  const dead = session.claim;
  const other = await trial.open();
  if (model.data.length === 0) {
    assert.equal(await other.find(ref.threadId), null);
    await session.do({ do: "create" }, other);
    next = 1;
  }
  session.claim = await trial.succeed(ref, other);
  if (dead) assert.ok(session.claim.fence > dead.fence, "the next fence is higher");
  await model.check(other, ref, "some");
  const seq = Math.max(0, ...model.events.map((line) => (JSON.parse(line) as { seq: number }).seq));
  assert.equal(session.claim.lastSeq, seq);
  for (const rest of script.slice(next)) await session.do(rest, other);
  await model.check(trial.store, ref);
  await other.close();
}
