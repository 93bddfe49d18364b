import type { JsonSchema } from "../contract/contract.ts";
import type { SchemaJudge } from "../engine/answer.ts";

/** Compiles what a `__wait__` asks for. The library is loaded when the first schema comes. */
export const judgeBySchema: SchemaJudge = async (schema: JsonSchema) => {
  const { compileSchema } = await import("../bundle/schema.ts");
  const compiled = await compileSchema(schema);
  if ("validate" in compiled) return { validate: compiled.validate };
  return { problem: `${compiled.path.join(".") || "it"} ${compiled.message}` };
};
