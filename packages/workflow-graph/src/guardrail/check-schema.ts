import { compileSchema } from "@uncaged/workflow/interpreter";
import type { SchemaCheck } from "../agent/agent.ts";
import { badSchema } from "./errors.ts";

/** Checks the answers of agents against the JSON Schemas of their guardrails. */
export const checkSchema: SchemaCheck = async (schema) => {
  const compiled = await compileSchema({ ...schema }, { all: true, name: "the answer" });
  if (!("validate" in compiled)) throw badSchema(`${compiled.path.join("/")} ${compiled.message}`);
  return (value) => {
    const problem = compiled.validate(value);
    return problem === null ? [] : [problem];
  };
};
