import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { PlanStore, type Started } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(180_000);
afterAll(removeFolders);

const agent = join(import.meta.dir, "agents/with-tools.mjs");
const missing = Bun.which("bwrap") ? "" : " (left out: bubblewrap is not installed)";

for (const mode of ["off", "bubblewrap"]) {
  const left = mode === "off" ? "" : missing;
  test.skipIf(left !== "")(
    `a step's agent can use its tools, and its forbidden commands are refused; sandbox: ${mode}${left}`,
    async () => {
      const store = await PlanStore.open();
      try {
        const env = { UNCAGED_PLAN_SANDBOX_MODE: mode };
        const { id } = await store.plan({ look: [] }, {}, env);
        await store.json<Started>(["plan", "confirm", id, "--agent", agent]);
        const { runs } = await store.untilPlan(
          id,
          ({ phase }) => phase === "completed" || phase === "failed",
        );
        const [step] = runs[0]?.steps ?? [];
        expect(step?.error).toBeNull();
        const [allowed, refused, ...rest] = String(JSON.parse(step?.output_json ?? "null")).split(
          "\n",
        );
        expect(allowed).toBe("0 ");
        expect(refused).toStartWith("2 refused: sudo is not allowed");
        expect(rest).toEqual(["4", "sent", mode === "off" ? store.work : "/workspace/project"]);
      } finally {
        await store.stop();
      }
    },
  );
}

test.skipIf(missing !== "")(
  `an agent runs in a sandbox without network only if the settings allow that${missing}`,
  async () => {
    const store = await PlanStore.open();
    try {
      const env = { UNCAGED_PLAN_SANDBOX_MODE: "bubblewrap", UNCAGED_PLAN_SANDBOX_NETWORK: "none" };
      const { id } = await store.plan({ look: [] }, {}, env);
      const confirm = ["plan", "confirm", id, "--agent", agent];
      const refused = await store.run(confirm);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining("agent.network to false"),
      ]);
      await store.ok(["plan", "config", "set", "agent.network", "false"]);
      expect(await store.ok(["plan", "show", id])).toContain("without network");
      await store.ok(confirm);
      const { runs } = await store.untilPhase(id, "completed");
      expect(runs[0]?.steps[0]?.output_json).toContain("sent");
    } finally {
      await store.stop();
    }
  },
);
