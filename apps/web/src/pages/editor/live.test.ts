import { expect, test } from "bun:test";
import { ThreadLog } from "../../lib/thread-log.ts";
import { traceRows } from "../../thread/trace/rows.ts";
import { liveNodes } from "./live.ts";

/** A log of committed steps: role, then meta. */
function logOf(...steps: [role: string, meta?: object][]): ThreadLog {
  const log = new ThreadLog();
  const thread = { threadId: "01", workflow: "w", hash: "h", prompt: "", maxRounds: 99 };
  log.takeStart({ ...thread, createdAt: 0, forkFrom: null });
  for (const [index, [role, meta = {}]] of steps.entries()) {
    const number = index + 1;
    log.takeStep({ number, role, content: "", meta: { ...meta }, timestamp: number });
  }
  return log;
}

const liveIn = (log: ThreadLog, status: "running" | "waiting" | "interrupted") => {
  log.status = status;
  return liveNodes(traceRows(log), status, 10);
};

test("a node shows its newest run, its number of runs, and whether it waits", () => {
  const log = logOf(["Set_A"], ["Set_A"], ["__wait__", { for: "pause", stepID: "Pause_B/In" }]);
  const live = liveIn(log, "waiting");
  expect(live.get("Set_A")).toMatchObject({ state: "committed", run: 2 });
  expect(live.get("Pause_B")?.state).toBe("waiting");
  expect([...live.keys()]).not.toContain("__wait__");
  const approval = logOf(["a"], ["__wait__", { nodeId: "ok" }]);
  expect(liveIn(approval, "waiting").get("ok")?.state).toBe("waiting");
});

test("without a worker, a running node is lost", () => {
  const log = logOf();
  const line = { tag: "EVENT000", content: "", timestamp: 1, stepID: null, seq: 1 };
  const start = { ...line, type: "attempt_start", payload: { role: "a" }, attempt: "1" };
  log.takeEvent(start);
  expect(liveIn(log, "running").get("a")?.state).toBe("running");
  expect(liveIn(log, "interrupted").get("a")?.state).toBe("lost");
});
