import type { Host } from "@uncaged/workflow/host";
import { PlanDatabase } from "../../src/store/database.ts";

/*
 * Kills this process with SIGKILL before or after one of the state-changing calls of the database or the host. `at`
 * counts the points from 1, two for each call.
 */
export function crashAt(host: Host, at: number | undefined): Host {
  let step = 0;
  const count = () => {
    step += 1;
    if (step === at) process.kill(process.pid, "SIGKILL");
  };
  const wrapped =
    <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      count();
      const result = call(...args);
      if (result instanceof Promise) return result.finally(count) as Result;
      count();
      return result;
    };
  for (const name of ["run", "atOnce"] as const) {
    const call = Reflect.get(PlanDatabase.prototype, name) as (...args: unknown[]) => unknown;
    Reflect.set(PlanDatabase.prototype, name, function own(this: PlanDatabase, ...args: unknown[]) {
      return wrapped(call.bind(this))(...args);
    });
  }
  return new Proxy(host, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const bound = value.bind(target) as (...args: unknown[]) => unknown;
      return ["start", "fork", "control"].includes(String(name)) ? wrapped(bound) : bound;
    },
  });
}
