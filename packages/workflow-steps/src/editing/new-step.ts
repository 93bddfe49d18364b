import { type Change, listOf } from "@uncaged/workflow/editing";
import { nameIn } from "../check/subject.ts";
import { nameOf, prefixOf } from "../document/document.ts";
import type { StepRecord, Steps } from "./steps.ts";

/** Returns an unused id for a type: `LLM_1`. */
export function freshId({ all, registry }: Steps, type: string): string {
  const field = fields[type];
  const declared = field === undefined ? [] : listOf(registry[field]).flatMap(nameIn);
  const free = declared.map((name) => `${type}_${name}`).find((id) => !all.has(id));
  return free ?? numbered(all, (n) => `${type}_${n}`);
}

/** The registry field that the id of a step must refer to, by type. */
const fields: Readonly<Record<string, string>> = {
  API: "apis",
  Service: "services",
  Component: "components",
};

/** Returns an unused id for a copy. Keeps the name in the id, which may be the name of a tool. */
export function freshCopyId(taken: ReadonlyMap<string, unknown>, id: string): string {
  const prefix = prefixOf(id);
  const isCallee = ["Tool", "API", "Service", "Component"].includes(prefix);
  if (isCallee && id !== prefix) return numbered(taken, (n) => `${prefix}_${n + 1}_${nameOf(id)}`);
  const base = id.replace(/_?\d+$/, "");
  return numbered(taken, (n) => `${base}_${n + 1}`);
}

function numbered(taken: ReadonlyMap<string, unknown>, name: (n: number) => string): string {
  for (let n = 1; ; n += 1) if (!taken.has(name(n))) return name(n);
}

/** Returns a new step, and the registry changes that it needs. */
export function newStep(
  type: string,
  id: string,
  registry: Steps["registry"],
): { step: StepRecord; declared: Change[] } {
  const variable = listOf(registry.vars).flatMap(nameIn)[0];
  const made = makers[type]?.(variable ?? "$result") ?? { in: {} };
  const step = { id, ...made, ...(type !== "Stop" && { next: "RETURN" }) };
  const isUsed = variable === undefined && JSON.stringify(made).includes("$result");
  return { step, declared: isUsed ? [declaration(registry)] : [] };
}

const declaration = ({ vars }: Steps["registry"]): Change =>
  Array.isArray(vars)
    ? { path: ["registry", "vars", vars.length], value: "$result(OBJECT)", insert: true }
    : { path: ["registry", "vars"], value: ["$result(OBJECT)"] };

/** Functions that return the initial fields of a step, by type. `variable` is a declared variable. */
const makers: Readonly<Record<string, (variable: string) => Record<string, unknown>>> = {
  LLM: () => ({ in: { prompt: "" } }),
  Tool: () => ({ tool: "", input: {} }),
  Subflow: () => ({ input: { workflow_path: "", params: {} } }),
  Set: (variable) => ({ target: variable, value: "" }),
  Write: () => ({ target: "/out.txt", value: "" }),
  Branch: () => ({ cases: [] }),
  Loop: () => ({ source: null, children: [] }),
  Fork: () => ({ children: [] }),
  Noop: () => ({}),
  Pause: (variable) => ({ reason: "", resumeResultTarget: variable }),
  Stop: () => ({}),
  Download: () => ({ in: { source: "" } }),
  Unzip: () => ({ in: { source: "" } }),
};
