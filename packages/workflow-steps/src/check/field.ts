import {
  BREAK,
  minorOf,
  modelSides,
  nameOf,
  prefixOf,
  RETURN,
  StepType,
} from "../document/document.ts";
import { itemsOf, listed, own, quoted, shown, showPath, violationsOf } from "../document/form.ts";
import { fields, hasField, isField, type StepDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import { pathInput, runsWorkflow } from "../document/outline.ts";
import { aStep, type CheckedStep, type StepRule, type Subject } from "./subject.ts";

const reserved: ReadonlySet<string> = new Set([RETURN, BREAK, "ELSE"]);
const longestId = 200;

const hasId: StepRule = ({ id, fields: { id: given }, error }) => {
  if (given === undefined) error([], "id is missing");
  else if (id === null) error(["id"], `id must be a non-empty string, not ${shown(given)}`);
};

// An id becomes the name of a role ("<parent>/<child>" in a child workflow) and of folders.
const hasPlainId: StepRule = ({ id, error }) => {
  if (id === null) return;
  if (reserved.has(id) || id.startsWith("__")) {
    error(["id"], "reserved id: RETURN, BREAK, ELSE, or an id that begins with __");
  }
  if (id.length > longestId) error(["id"], `id must have at most ${longestId} characters`);
  if (/[/\\]|\.\./.test(id)) error(["id"], 'id must not contain "/", "\\" or ".."');
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(id))
    error(["id"], "id must not contain control characters");
};

const hasKnownType: StepRule = ({ id, type, fields: { type: explicit }, error }) => {
  if (explicit !== undefined && typeof explicit !== "string") {
    error(["type"], `type must be a string, not ${shown(explicit)}`);
  } else if (id === null || reserved.has(id)) return;
  else if (explicit === undefined && !id.includes("_")) {
    error(["id"], 'id must be a type, "_" and a name, such as LLM_Plan');
  } else if (type === null && !id.startsWith("__")) {
    const name = quoted(explicit ?? prefixOf(id));
    const known = Object.keys(StepType).join(", ");
    error([explicit === undefined ? "id" : "type"], `${name} is not a step type: ${known}`);
  }
};

const hasItsFields: StepRule = ({ type, fields: given, error }) => {
  if (type === null) return;
  for (const { name, form, isRequired, on } of fields) {
    if (!on.has(type)) continue;
    const value = given[name];
    if (value !== undefined) {
      for (const { path, text } of violationsOf(form, value, [name])) error(path, text);
    } else if (isRequired) error([], `${name} is missing: ${aStep(type)} needs it`);
  }
};

const hasNoIdleField: StepRule = ({ type, fields: given, error, warning }) => {
  if (type === null) return;
  for (const name of Object.keys(given)) {
    if (hasField(type, name) || !isField(name)) continue;
    if (type === "Stop" && (name === "next" || name === "children")) {
      error([name], `a Stop ends the run, so it can't have ${name}`);
    } else warning([name], `${name} has no effect on ${aStep(type)}`);
  }
  if (given.in !== undefined && given.input !== undefined && hasField(type, "in")) {
    warning(["input"], "input has no effect when in is set");
  }
};

/** The minor version that introduced each type of step. */
const since: Readonly<Record<string, number>> = { Tool: 17, Subflow: 17 };

const isInItsVersion: StepRule = ({ type, warning }, { document }) => {
  const declared = minorOf(document.version);
  const first = since[type ?? ""];
  if (type === null || declared === null || first === undefined || declared >= first) return;
  warning(
    [],
    `${aStep(type)} needs version 3.${first}, but the workflow has version 3.${declared}`,
  );
};

const loopsOverOneThing: StepRule = ({ type, fields: given, error }) => {
  if (type !== "Loop") return;
  if (given.while === undefined) {
    if (given.source === undefined) error([], "a Loop needs source or while");
    return;
  }
  if (given.source !== undefined) error(["while"], "a Loop can't have both source and while");
  if (given.mode === "parallel") error(["mode"], "a Loop with while can't be parallel");
  if (given.maxIterations === undefined) error([], "a Loop with while needs maxIterations");
};

const hasElseLast: StepRule = ({ type, fields: { cases }, error }) => {
  const before = type === "Branch" ? itemsOf(cases).slice(0, -1) : [];
  for (const [index, pair] of before.entries()) {
    if (itemsOf(pair)[0] === "ELSE") error(["cases", index], "ELSE must be the last of the cases");
  }
};

const hasTarget: StepRule = ({ type, fields: given, error, warning }) => {
  if (type !== "Set" && type !== "Write") return;
  const { target, value, out, children } = given;
  if (target !== undefined) {
    if (value === undefined)
      warning([], `value is missing, so null is written to ${shown(target)}`);
  } else if (out === undefined && (type === "Write" || children === undefined)) {
    error([], `${aStep(type)} needs a target`);
  } else if (value !== undefined) warning(["value"], "value has no effect without target");
};

const callsWhatIsDeclared: StepRule = ({ id, type, error, warning }, { declared }) => {
  const check = (report: typeof error, what: string, field: "services" | "apis" | "components") => {
    const name = nameOf(id ?? "", [...declared[field]]);
    if (declared[field].has(name)) return;
    report(["id"], `the ${what} ${quoted(name)} is not in registry.${field}`);
  };
  if (type === "Service") check(error, "service", "services");
  else if (type === "API") check(error, "API", "apis");
  else if (type === "Component") check(warning, "component", "components");
};

/** Reports an unknown tool: an error, or a warning if the step continues after a failure. */
const callsKnownTool: StepRule = ({ id, type, fields: given, error, warning }, { tools }) => {
  if (type !== "Tool" || tools === null || runsWorkflow(given as StepDocument)) return;
  const [field] = ["tool", "toolName"].filter((one) => given[one] !== undefined);
  const name = field === undefined ? nameOf(id ?? "") : given[field];
  if (!isLiteral(name)) return;
  const { allowError, continueOnError, onError } = given;
  const isAllowed = allowError === true || continueOnError === true || onError !== undefined;
  const report = isAllowed ? warning : error;
  const inputs = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (!inputs) {
    const there = listed(Object.keys(tools).filter((one) => /^[A-Z]/.test(one)));
    return report([field ?? "id"], `no tool ${quoted(name)} found; tools: ${there}`);
  }
  const home = given.in === undefined ? "input" : "in";
  const unknown = Object.keys(isPlain(given[home]) ? given[home] : {}).filter(
    (key) => key !== "timeout" && !inputs.includes(key),
  );
  for (const key of unknown) {
    report(
      [home, key],
      `the tool ${quoted(name)} does not accept the input ${quoted(key)}: use ${listed(inputs)}`,
    );
  }
};

const isLiteral = (value: unknown): value is string =>
  typeof value === "string" && !value.startsWith("=");

const hasModelName: StepRule = ({ type, fields: given, error }) => {
  if (type !== "LLM") return;
  const homes = inputsOf(given);
  const hasProvider = homes.some(([home]) => own(home, "provider") !== undefined);
  for (const [home, path] of homes) {
    for (const name of ["model", "provider"]) {
      const value = own(home, name);
      if (!isLiteral(value)) continue;
      const where = [...path, name];
      if (value.trim() === "") error(where, `${showPath(where)} is empty`);
      else if (name === "model" && !hasProvider && modelSides(value)?.includes("")) {
        error(where, `${showPath(where)} ${quoted(value)} is missing a provider or a model`);
      }
    }
  }
};

const outputTypes = ["text", "json_object", "json_schema"];

const hasOneSchema = ({ type, fields: given, error }: CheckedStep, { declared }: Subject) => {
  if (type !== "LLM") return;
  for (const [home, place] of inputsOf(given).slice(1)) {
    const config = own(home, "output_config");
    const isNested = isPlain(own(config, "format"));
    const flat = isNested ? own(config, "format") : config;
    const path = [...place, "output_config", ...(isNested ? ["format"] : [])];
    const [ref, kind] = [own(flat, "schemaRef"), own(flat, "type")];
    if (ref !== undefined && own(flat, "schema") !== undefined) {
      error(path, `${showPath(path)} has a schema and a schemaRef`);
    }
    if (isLiteral(ref) && !declared.schemas.has(ref)) {
      error([...path, "schemaRef"], `the schema ${quoted(ref)} is not in registry.schemas`);
    }
    if (isLiteral(kind) && !outputTypes.includes(kind)) {
      error([...path, "type"], `${showPath(path)}.type must be ${listed(outputTypes)}`);
    }
  }
};

const hasSource: StepRule = ({ type, fields: given, error }) => {
  if (type !== "Download" && type !== "Unzip") return;
  if (inputsOf(given).some(([home]) => own(home, "source") !== undefined)) return;
  error([], `${aStep(type)} needs source in its in`);
};

const namesItsWorkflow: StepRule = ({ id, type, fields: given, error }) => {
  if (id === null || (type !== "Tool" && type !== "Subflow")) return;
  if (!runsWorkflow(given as StepDocument)) return;
  const [[home, place]] = [...inputsOf(given).slice(1), [{}, []] as [object, string[]]];
  const path = own(home, pathInput) ?? null;
  if (path === null) error([], `${aStep(type)} that runs a workflow needs ${pathInput} in its in`);
  else if (typeof path !== "string" || path.trim() === "") {
    error([...place, pathInput], `${pathInput} must be the path of a workflow, not ${shown(path)}`);
  }
};

/** Returns the objects with a call's parameters and their paths: the step itself, then its inputs. */
function inputsOf(given: CheckedStep["fields"]): [CheckedStep["fields"], string[]][] {
  const name = given.in === undefined ? "input" : "in";
  const input = given[name];
  return [[given, []], ...(isPlain(input) ? [[input, [name]] as [typeof input, string[]]] : [])];
}

export const fieldRules: readonly StepRule[] = [
  hasId,
  hasPlainId,
  hasKnownType,
  hasItsFields,
  hasNoIdleField,
  isInItsVersion,
  loopsOverOneThing,
  hasElseLast,
  hasTarget,
  callsWhatIsDeclared,
  callsKnownTool,
  hasModelName,
  hasOneSchema,
  hasSource,
  namesItsWorkflow,
];
