import { expect, test } from "bun:test";
import fc from "fast-check";
import { concurrently, recorded, Scheduler, type Turn } from "./scheduler.ts";

/** Actions of one task, as data. */
type Act =
  | { do: "work"; ticks: number }
  | { do: "publish" }
  | { do: "commit" }
  | { do: "wait"; ticks: number }
  | { do: "aside"; tasks: Act[][]; limit: number };

const ticks = fc.nat(4);
const { acts } = fc.letrec<{ acts: Act[] }>((tie) => ({
  acts: fc.array(
    fc.oneof(
      { depthIdentifier: "acts", maxDepth: 2 },
      fc.record({ do: fc.constant("work"), ticks }),
      fc.record({ do: fc.constant("publish") }),
      fc.record({ do: fc.constant("commit") }),
      fc.record({ do: fc.constant("wait"), ticks }),
      fc.record({
        do: fc.constant("aside"),
        tasks: fc.array(tie("acts"), { maxLength: 3 }),
        limit: fc.nat(2),
      }),
    ) as fc.Arbitrary<Act>,
    { maxLength: 4, depthIdentifier: "acts" },
  ),
}));
const plans = fc.array(acts, { maxLength: 4 });

type Item = { kind: "event" | "commit" | "question"; number: number };

const pass = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await Promise.resolve();
};

/** Runs tasks and records the running tasks, so that the reader can see them during a wait. */
class Trial {
  readonly scheduler = new Scheduler<Item, number>();
  readonly put: number[] = [];
  readonly durable = new Set<number>();
  atWork = 0;
  #count = 0;

  async task(plan: readonly Act[]): Promise<void> {
    await this.scheduler.run(async (turn) => {
      this.atWork += 1;
      try {
        for (const act of plan) await this.#act(act, turn);
      } finally {
        this.atWork -= 1;
      }
    });
  }

  tasks(plan: readonly Act[][], limit: number): Promise<unknown> {
    return concurrently(
      plan.map((each) => () => this.task(each)),
      { limit },
    );
  }

  async #act(act: Act, turn: Turn): Promise<void> {
    if (act.do === "work") return await pass(act.ticks);
    if (act.do === "publish") return this.scheduler.publish(this.#item("event"));
    if (act.do === "commit") {
      const item = this.#item("commit");
      await this.scheduler.commit(item);
      expect(this.durable).toContain(item.number);
      return;
    }
    this.atWork -= 1;
    if (act.do === "aside") await turn.aside(() => this.tasks(act.tasks, act.limit));
    else {
      await turn.wait(async () => {
        expect(this.atWork).toBe(0);
        await pass(act.ticks);
        const item = this.#item("question");
        expect(await this.scheduler.ask(item)).toBe(item.number);
        expect(this.atWork).toBe(0);
      });
    }
    this.atWork += 1;
  }

  #item(kind: Item["kind"]): Item {
    this.#count += 1;
    this.put.push(this.#count);
    return { kind, number: this.#count };
  }
}

test("S1, S2, S3: items are in order, after durable commits, and waits are alone, in any interleaving", async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.nat(3), fc.array(ticks), async (plan, limit, pauses) => {
      const trial = new Trial();
      const { scheduler } = trial;
      const ended = trial.tasks(plan, limit).then(
        () => scheduler.close(),
        (error: unknown) => scheduler.close({ error }),
      );
      const read: number[] = [];
      const items = scheduler.items();
      let next = await items.next();
      while (next.done !== true) {
        const item = next.value;
        read.push(item.number);
        if (item.kind === "question") expect(trial.atWork).toBe(0);
        await pass(pauses[read.length % pauses.length] ?? 0);
        if (item.kind === "question") expect(trial.atWork).toBe(0);
        trial.durable.add(item.number);
        next = await items.next(item.kind === "question" ? item.number : undefined);
      }
      await ended;
      expect(read).toEqual(trial.put);
      expect(trial.atWork).toBe(0);
    }),
    { numRuns: 400 },
  );
});

test("S3: a task that fails during a wait does not wait for the answer", async () => {
  const scheduler = new Scheduler<string, string>();
  const failing = scheduler.run((turn) => turn.aside(() => Promise.reject(new Error("no"))));
  const asking = scheduler.run((turn) => turn.wait(() => scheduler.ask("?")));
  expect(failing).rejects.toThrow("no");
  const items = scheduler.items();
  expect((await items.next()).value).toBe("?");
  void items.next("yes");
  expect(await asking).toBe("yes");
});

test("S4: all tasks run, at most the limit at once, and each is taken when it can start", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(ticks, { maxLength: 12 }), fc.nat(4), async (lengths, limit) => {
      let running = 0;
      let most = 0;
      function* tasks() {
        for (const [index, length] of lengths.entries()) {
          if (limit > 0) expect(running).toBeLessThan(limit);
          yield async () => {
            running += 1;
            most = Math.max(most, running);
            await pass(length);
            running -= 1;
            return index;
          };
        }
      }
      const { values, failures } = await concurrently(tasks(), { limit });
      expect(values).toEqual([...lengths.keys()]);
      expect(failures).toEqual([]);
      expect(most).toBe(limit === 0 ? lengths.length : Math.min(limit, lengths.length));
    }),
  );
});

test("S4: a failure aborts the other tasks and is thrown at once; with settle all tasks end and each failure is reported", async () => {
  const hanging = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("late"))));
  const failing = async (): Promise<never> => await Promise.reject(new Error("first"));
  expect(concurrently([hanging, failing])).rejects.toThrow("first");
  expect(concurrently([() => new Promise<never>(() => {}), failing])).rejects.toThrow("first");
  const { values, failures } = await concurrently(
    [failing, async () => await Promise.resolve("done"), failing],
    { onFailure: "settle", limit: 1 },
  );
  expect(values).toEqual([undefined, "done", undefined]);
  expect(failures.map(({ index }) => index)).toEqual([0, 2]);
});

test("S4: an abort of the caller reaches the tasks, even an abort before their start", async () => {
  const seen: boolean[] = [];
  const look = async (signal: AbortSignal): Promise<void> => {
    await pass(2);
    seen.push(signal.aborted);
  };
  const abort = new AbortController();
  const running = concurrently([look], { signal: abort.signal });
  abort.abort();
  await running;
  await concurrently([look], { signal: AbortSignal.abort() });
  expect(seen).toEqual([true, true]);
});

test("S4: an iterable that throws is a failure like any other", async () => {
  function* broken(): Generator<() => Promise<void>> {
    yield () => new Promise<void>(() => {});
    throw new Error("no more");
  }
  expect(concurrently(broken())).rejects.toThrow("no more");
});

test("S5: after cancel items are still read; after close a late result has no effect", async () => {
  const scheduler = new Scheduler<string>();
  scheduler.publish("before");
  scheduler.cancel("enough");
  expect(scheduler.signal.reason).toBe("enough");
  scheduler.publish("the end");
  scheduler.close();
  scheduler.publish("late");
  let settled = false;
  void scheduler.commit("later").then(() => (settled = true));
  expect(await Array.fromAsync(scheduler.items())).toEqual(["before", "the end"]);
  await pass(3);
  expect(settled).toBe(false);
});

test("S5: tasks of a closed inner scheduler do not block waits of the outer scheduler", async () => {
  const outer = new Scheduler<string, string>();
  const inner = new Scheduler<string>(outer.flight);
  void inner.run(() => new Promise<never>(() => {}));
  const asking = outer.run((turn) => turn.wait(() => outer.ask("?")));
  const items = outer.items();
  const question = items.next();
  await pass(5);
  inner.close();
  expect((await question).value).toBe("?");
  void items.next("yes");
  expect(await asking).toBe("yes");
});

test("S3: a task that ends before its subtasks does not block a later wait", async () => {
  const scheduler = new Scheduler<string, string>();
  const { promise: inner, resolve } = Promise.withResolvers<void>();
  const abort = Promise.withResolvers<void>();
  const left = scheduler.run((turn) => Promise.race([turn.aside(() => inner), abort.promise]));
  await pass(3);
  abort.resolve();
  await left;
  resolve();
  await pass(3);
  const asking = scheduler.run((turn) => turn.wait(() => scheduler.ask("?")));
  const items = scheduler.items();
  expect((await items.next()).value).toBe("?");
  void items.next("yes");
  expect(await asking).toBe("yes");
});

test("S6: a failure follows the items before it, and a reader that ends closes the scheduler", async () => {
  const scheduler = new Scheduler<string>();
  scheduler.publish("a");
  scheduler.close({ error: new Error("over") });
  const items = scheduler.items();
  expect((await items.next()).value).toBe("a");
  expect(items.next()).rejects.toThrow("over");
  const left = new Scheduler<string>();
  left.publish("a");
  for await (const _ of left.items()) break;
  expect(left.signal.aborted).toBe(true);
});

test("an unanswered question is an error", async () => {
  const scheduler = new Scheduler<string, string>();
  const asked = scheduler.ask("?");
  const items = scheduler.items();
  await items.next();
  void items.next();
  expect(asked).rejects.toThrow("no answer");
});

test("S7: each commit finds its task in any order; open tasks remain, and later commits are not read", () => {
  const names = fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 6 });
  fc.assert(
    fc.property(names, fc.nat(6), fc.gen(), (keys, done, pick) => {
      const order = keys.toSorted(() => pick(fc.constantFrom, -1, 1)).slice(0, done);
      const open = new Map(keys.map((key) => [key, { key }]));
      let taken = 0;
      function* log() {
        for (const key of [...order, "of a later step"]) {
          taken += 1;
          yield key;
        }
      }
      const isWhole = order.length === keys.length;
      const found = [...recorded(open, isWhole ? log() : order, (key) => key)];
      expect(found.map(({ task }) => task?.key)).toEqual(order);
      expect([...open.keys()].toSorted()).toEqual(
        keys.filter((key) => !order.includes(key)).toSorted(),
      );
      if (isWhole) expect(taken).toBe(order.length);
    }),
  );
  const strange = [...recorded(new Map([["a", 1]]), ["b", "a"], (key) => key)];
  expect(strange).toEqual([
    { commit: "b", task: undefined },
    { commit: "a", task: 1 },
  ]);
});
