import type { Bundle, JsonSchema } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { isPlainObject } from "../contract/show.ts";
import { compileSchema, type Validate } from "./schema.ts";

const takesAll: Validate = () => null;
const known = new WeakMap<Pick<Bundle, "descriptor">, Promise<Validate>>();

/**
 * Checks the params of a new thread against its bundle's `descriptor.input`. A prompt without params is accepted,
 * because the workflow may parse it. `workflow` is its name, for the hint.
 * @throws WorkflowError `PARAMS_INVALID` (usage) that names all missing and invalid params.
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
  const hint = `give them as one JSON object; see what they must be: uncaged-workflow show ${workflow}`;
  throw WorkflowError.usage("PARAMS_INVALID", problem.slice(0, 2000), hint);
}

// A bundle added by an older version may have any value here.
async function validatorOf(input: JsonSchema): Promise<Validate> {
  if (typeof input !== "boolean" && !isPlainObject(input)) return takesAll;
  const compiled = await compileSchema(input, { all: true, name: "params" });
  return "validate" in compiled ? compiled.validate : takesAll;
}
