import type { Forms } from "../llm/form.ts";

const formats = new Set(
  "date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "),
);

/**
 * Schema rules of Anthropic's structured outputs:
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs. The service also refuses schemas that are
 * too complex, with an undocumented limit.
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
