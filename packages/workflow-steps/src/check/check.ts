import { BREAK, RETURN, StepType } from "../document/document.ts";
import { hasGoodExpressions, hasGoodTargets } from "./expression.ts";
import { documentRules, hasItsFields, hasNoIdleField, isInItsVersion } from "./field.ts";
import {
  breaksAreInLoops,
  constructsDoNotContainThemselves,
  flowRules,
  hasElseLast,
  hasNext,
  hasTarget,
  loopsOverOneThing,
  namesEachChildOnce,
  namesStepsThatExist,
  warnsOfSourcesWrittenInLoops,
} from "./flow.ts";
import {
  callsWhatIsDeclared,
  hasModelName,
  hasOneSchema,
  hasSource,
  registryRules,
} from "./registry.ts";
import { quoted, shown } from "../document/form.ts";
import { isPlain } from "../expression/value.ts";
import {
  type CheckedStep,
  type DocumentRule,
  type StepRule,
  subjectOf,
  type Violation,
} from "./subject.ts";

const reserved: ReadonlySet<string> = new Set([RETURN, BREAK, "ELSE"]);
const longestId = 200;

/** The rules for a step's id and type. */
const identityRules: readonly StepRule[] = [hasId, hasFreeId, hasPlainId, hasKnownType];

/** No two steps have one id. */
const idsAreUnique: DocumentRule = ({ steps }) => {
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

const stepRules: readonly StepRule[] = [
  ...identityRules,
  hasItsFields,
  hasNoIdleField,
  isInItsVersion,
  namesStepsThatExist,
  namesEachChildOnce,
  loopsOverOneThing,
  hasElseLast,
  hasTarget,
  callsWhatIsDeclared,
  hasModelName,
  hasOneSchema,
  hasSource,
  hasGoodTargets,
  hasGoodExpressions,
  hasNext,
];

const wholeRules: readonly DocumentRule[] = [
  idsAreUnique,
  breaksAreInLoops,
  constructsDoNotContainThemselves,
  ...flowRules,
  warnsOfSourcesWrittenInLoops,
];

/**
 * Everything that is wrong with a document, and what may be meant otherwise, in one list: the document
 * itself, its registry, its steps one by one, then how they hang together. None of it is thrown, whatever
 * the document is. It is valid when no violation is an error.
 *
 * @param customTypes The prefixes that the caller has handlers for.
 * @example validate({ version: "4.0", name: "n", registry: {}, steps })
 */
export function validate(
  document: unknown,
  { customTypes = [] }: { customTypes?: Iterable<string> } = {},
): Violation[] {
  const violations: Violation[] = [];
  if (!isPlain(document)) {
    const message = `a workflow must be an object, not ${shown(document)}`;
    return [{ severity: "error", stepID: null, path: [], message }];
  }
  const subject = subjectOf(document, new Set(customTypes), violations);
  for (const rule of [...documentRules, ...registryRules]) rule(subject);
  for (const step of subject.steps) for (const rule of stepRules) rule(step, subject);
  for (const rule of wholeRules) rule(subject);
  return violations;
}
