import type { Forms } from "../llm/form.ts";

const formats = new Set(
  "date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "),
);

/**
 * What Anthropic's mode allows: https://platform.claude.com/docs/en/build-with-claude/structured-outputs. It also bounds
 * how complex a schema is, without a number: it then refuses it.
 */
export const anthropicForms: Omit<Forms, "key"> = {
  rules: {
    areAllRequired: false,
    mayRecur: false,
    enforces: (keyword, value) =>
      (keyword === "format" && formats.has(String(value))) ||
      (keyword === "minItems" && (value === 0 || value === 1)),
    allows: ({ optional, unions }) => optional <= 24 && unions <= 16,
  },
  hasForcedTool: true,
  isShown: true,
};
