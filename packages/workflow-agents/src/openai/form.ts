import type { Forms } from "../llm/form.ts";

const enforced = new Set(
  "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split(" "),
);
const formats = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));

/**
 * Schema rules of OpenAI's strict mode: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
 * Other servers of the protocol enforce the schema, but most do not show it to the model.
 */
export const openaiForms = (isOfficial: boolean): Omit<Forms, "key"> => ({
  rules: {
    areAllRequired: true,
    mayRecur: true,
    enforces: (keyword, value) =>
      enforced.has(keyword) || (keyword === "format" && formats.has(String(value))),
    allows: ({ properties, depth, enumValues, characters }) =>
      properties <= 5000 && depth <= 10 && enumValues <= 1000 && characters <= 120_000,
  },
  hasForcedTool: false,
  isShown: isOfficial,
});
