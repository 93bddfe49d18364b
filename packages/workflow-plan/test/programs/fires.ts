import { type Host, openLocalHost } from "@uncaged/workflow/host";
import { openPlans } from "../../src/service.ts";
import { PlanDatabase } from "../../src/service/database.ts";
import { cron } from "../home.ts";

/*
 * Fires a plan and starts its run, and is killed with -9 at the point with a number: before each statement and each
 * call of the engine. Puts out `done` when there are not so many.
 */
const [, , home = "", root = "", cwd = "", id = "", number = "0"] = process.argv;
let point = 0;
const pass = (): void => {
  if ((point += 1) === Number(number)) process.kill(process.pid, "SIGKILL");
};

Object.defineProperty(PlanDatabase.prototype, "run", {
  value: new Proxy(Reflect.get(PlanDatabase.prototype, "run") as () => number, {
    apply: (run, self, given) => {
      pass();
      return Reflect.apply(run, self, given);
    },
  }),
});

const host = new Proxy(openLocalHost({ path: root }), {
  get(target, name) {
    const own = target[name as keyof Host] as unknown;
    if (typeof own !== "function") return own;
    return (...given: unknown[]) => {
      pass();
      return own.apply(target, given) as unknown;
    };
  },
});
const env = { PATH: process.env.PATH };
const plans = openPlans({ host, home, env, cwd, maxRuns: 100 });
const expected = { triggerJson: JSON.stringify(cron), lastResult: null, lastCheckAt: null };
await plans.fire({ workflowId: id, expected, state: { last_result: "fired" }, triggerData: id });
await plans.startQueued();
process.stdout.write("done");
