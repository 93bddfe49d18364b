import { type Completion, type DocumentPath, isRecord, listOf } from "@uncaged/workflow/editing";
import { nameIn } from "../check/subject.ts";
import { callTypes } from "../document/document.ts";
import { type Steps, stepsOf, typeOf } from "./steps.ts";

/** Returns the names that a step's field may use: params, variables, and names that exist only while the step runs. */
export function completionsAt(
  document: unknown,
  node: string,
  path: DocumentPath,
): readonly Completion[] {
  const steps = stepsOf(document);
  const { registry } = steps;
  return [
    ...declared(registry.params).map((text) => ({
      text,
      detail: `param${typeIn(registry.params, text)}`,
    })),
    ...declared(registry.vars).map((text) => ({
      text,
      detail: `variable${typeIn(registry.vars, text)}`,
    })),
    ...localsAt(steps, node, path),
    ...system,
  ];
}

const declared = (list: unknown): string[] => listOf(list).flatMap(nameIn);

/** Returns the type and the initial value in a declaration such as `name(TYPE) = "value"`. */
function typeIn(list: unknown, name: string): string {
  const text = listOf(list).find((one) => nameIn(one)[0] === name);
  const [, type, value] = /\(([^()]*)\)(?:\s*=\s*(.+))?/.exec(String(text)) ?? [];
  return [type, value && `for example ${value}`].map((part) => (part ? `, ${part}` : "")).join("");
}

const system: readonly Completion[] = [
  { text: "SYSVAR.runID", detail: "the run" },
  { text: "SYSVAR.workflow", detail: "the workflow's name" },
];

function localsAt(steps: Steps, node: string, path: DocumentPath): Completion[] {
  const found = steps.all.get(node);
  if (!found) return [];
  const type = typeOf(found.step) ?? "";
  const isOutput = path.includes("out") || path.includes("print");
  return [
    ...(isInLoop(steps, node) || (type === "Loop" && path.includes("while")) ? inLoop : []),
    ...(isOutput && callTypes.has(type) ? ofCall : []),
    ...(isOutput && type === "Tool" ? ofTool : []),
    ...(handlesErrors(steps, node) ? inHandler : []),
  ];
}

const inLoop: readonly Completion[] = [
  { text: "_item", detail: "the element of this iteration" },
  { text: "_index", detail: "its position, from 0" },
  { text: "_iterDir", detail: "a name for files of this iteration" },
];
const ofCall: readonly Completion[] = [
  { text: "_result", detail: "result of the call" },
  { text: "_meta", detail: "model, usage and time of the call" },
];
const ofTool: readonly Completion[] = [{ text: "_toolResult", detail: "full result of the tool" }];
const inHandler: readonly Completion[] = [
  { text: "_error", detail: "the error: type, message, code" },
];

function isInLoop({ all, containers }: Steps, id: string): boolean {
  let around = containers.get(id) ?? null;
  while (around !== null) {
    const construct = all.get(around)?.step;
    if (construct && typeOf(construct) === "Loop") return true;
    around = containers.get(around) ?? null;
  }
  return false;
}

const handlesErrors = ({ all }: Steps, id: string): boolean =>
  [...all.values()].some(({ step }) => isRecord(step) && step.onError === id);
