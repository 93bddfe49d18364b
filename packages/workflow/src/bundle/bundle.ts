import type { Bundle } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";

const asyncGeneratorFunction: unknown = Object.getPrototypeOf(async function* () {});

/**
 * The bundle that a loaded module is: `run` an async generator function, `descriptor` an object,
 * nothing exported as default. The descriptor's inside was checked when the bundle was added.
 *
 * A function that only returns a generator is refused: nothing but a call could tell what it gives.
 * @throws WorkflowError `BUNDLE_REFUSED`; its message names no file.
 */
export function toBundle(module: object): Bundle {
  const exported: { run?: unknown; descriptor?: unknown } = module;
  if (!isRun(exported.run)) {
    throw refused(`run is ${describe(exported.run)}, not an async generator function`);
  }
  if (!isObject(exported.descriptor)) {
    throw refused(`descriptor is ${describe(exported.descriptor)}, not an object`);
  }
  if ("default" in module) throw refused(`there must be no default export`);
  return { run: exported.run, descriptor: exported.descriptor };
}

const isRun = (value: unknown): value is Bundle["run"] =>
  typeof value === "function" && Object.getPrototypeOf(value) === asyncGeneratorFunction;

const isObject = (value: unknown): value is Bundle["descriptor"] =>
  typeof value === "object" && value !== null;

function describe(value: unknown): string {
  if (typeof value === "function") {
    const kind: unknown = Object.getPrototypeOf(value)?.[Symbol.toStringTag];
    return typeof kind === "string" ? `a plain ${kind}` : "a plain function";
  }
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function refused(message: string): WorkflowError {
  return new WorkflowError({
    code: "BUNDLE_REFUSED",
    kind: "failed",
    message,
    hint: "export async function* run(input, options) and const descriptor; let the bundler keep generators (ES2018 or later)",
  });
}
