import { BREAK, RETURN } from "../document/constants.ts";
import { StepType } from "../document/step-type.ts";
import { quoted, shown } from "./fault.ts";
import type { CheckedStep, DocumentRule, StepRule } from "./subject.ts";

const reserved: ReadonlySet<string> = new Set([RETURN, BREAK, "ELSE"]);
const longestId = 200;

/** The rules for a step's id and type. */
export const identityRules: readonly StepRule[] = [hasId, hasFreeId, hasPlainId, hasKnownType];

/** No two steps have one id. */
export const idsAreUnique: DocumentRule = ({ steps }) => {
  const first = new Map<string, number>();
  for (const { id, index, error } of steps) {
    if (id === null) continue;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    else error(["id"], `this id has been given to steps[${earlier}] already`);
  }
};

function hasId({ id, fields, error }: CheckedStep): void {
  if (id !== null) return;
  if (fields.id === undefined) error([], "id is missing");
  else error(["id"], `id must be a text that is not empty, not ${shown(fields.id)}`);
}

function hasFreeId({ id, error }: CheckedStep): void {
  if (id === null || (!reserved.has(id) && !id.startsWith("__"))) return;
  error(["id"], "this id is reserved: RETURN, BREAK, ELSE and what begins with __ are");
}

// An id becomes a role, and a child's role is "<parent>/<child>"; it names folders too.
function hasPlainId({ id, error }: CheckedStep): void {
  if (id === null) return;
  if (id.length > longestId) error(["id"], `an id has at most ${longestId} characters`);
  if (/[/\\]|\.\./.test(id)) error(["id"], 'an id has no "/", no "\\" and no ".."');
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(id)) error(["id"], "an id has no control characters");
}

function hasKnownType({ id, type, fields, error }: CheckedStep): void {
  const explicit = fields.type;
  if (explicit !== undefined && typeof explicit !== "string") {
    error(["type"], `type must be a text, not ${shown(explicit)}`);
  } else if (id !== null && explicit === undefined && !id.includes("_") && !reserved.has(id)) {
    error(["id"], 'an id is a type, "_" and a name, such as LLM_Plan');
  } else if (id !== null && type === null && !reserved.has(id) && !id.startsWith("__")) {
    const name = explicit ?? id.split("_", 1)[0] ?? "";
    const path = explicit === undefined ? ["id"] : ["type"];
    error(path, `${quoted(name)} is no type of step: ${Object.keys(StepType).join(", ")} are`);
  }
}
