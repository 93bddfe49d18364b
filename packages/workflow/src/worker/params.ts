import { compileSchema, type Validate } from "../bundle/schema.ts";
import type { Bundle, JsonSchema } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { isPlainObject } from "../contract/kind.ts";
import type { StartRequest } from "../control/control.ts";

const takesAll: Validate = () => null;
const known = new WeakMap<Bundle, Promise<Validate>>();

/**
 * Checks what a thread is started with against its bundle's `descriptor.input`. Where a prompt comes
 * without params, the workflow may read them from it. A fork, and a thread that begins with an answer,
 * go on from what they were made of.
 *
 * @throws WorkflowError `PARAMS_INVALID` (usage) that names all that is missing or wrong.
 */
export async function checkParams(bundle: Bundle, request: StartRequest): Promise<void> {
  const { params, prompt = "", workflow } = request;
  const { input } = bundle.descriptor;
  if (input === undefined || request.fork || request.input) return;
  if (params === undefined && prompt !== "") return;
  const validate = known.get(bundle) ?? validatorOf(input);
  known.set(bundle, validate);
  const problem = (await validate)(params ?? {});
  if (problem === null) return;
  throw new WorkflowError({
    code: "PARAMS_INVALID",
    kind: "usage",
    message: problem.slice(0, 2000),
    hint: `give them as one JSON object; see what they must be: uncaged-workflow show ${workflow}`,
  });
}

// A bundle that was added before this was checked may hold anything there.
async function validatorOf(input: JsonSchema): Promise<Validate> {
  if (typeof input !== "boolean" && !isPlainObject(input)) return takesAll;
  const compiled = await compileSchema(input, { all: true, name: "params" });
  return "validate" in compiled ? compiled.validate : takesAll;
}
