import type { Bundle, JsonSchema } from "../contract/contract.ts";
import { isPlainObject } from "../contract/show.ts";
import { compileSchema, type Validate } from "./schema.ts";
import { paramsInvalid } from "./errors.ts";

const takesAll: Validate = () => null;
const known = new WeakMap<Pick<Bundle, "descriptor">, Promise<Validate>>();

/**
 * Checks the params of a new thread against its bundle's `descriptor.input`. Accepts a prompt without params, because
 * the workflow may parse the prompt. `workflow` is the workflow's name, for the hint.
 *
 * @throws WorkflowError `PARAMS_INVALID` (usage), with all missing and invalid params.
 */
export async function checkStartParams(
  bundle: Pick<Bundle, "descriptor">,
  { params, prompt = "" }: { params?: unknown; prompt?: string },
  workflow: string,
): Promise<void> {
  const { input } = bundle.descriptor;
  if (input === undefined || (params === undefined && prompt !== "")) return;
  const validate = known.get(bundle) ?? validatorOf(input);
  known.set(bundle, validate);
  const problem = (await validate)(params ?? {});
  if (problem === null) return;
  throw paramsInvalid(problem, workflow);
}

// A bundle added by an older version may have any value here.
async function validatorOf(input: JsonSchema): Promise<Validate> {
  if (typeof input !== "boolean" && !isPlainObject(input)) return takesAll;
  const compiled = await compileSchema(input, { all: true, name: "params" });
  return "validate" in compiled ? compiled.validate : takesAll;
}
