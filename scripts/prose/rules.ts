import type { TextlintRuleModule } from "@textlint/types";

/* Kinds of prose faults that a pattern can find. CONTRIBUTING.md describes the style of this repository. */
type Kind = { pattern: RegExp; advice: string };

/** Start of a sentence, or of a clause after a colon, a semicolon or a bracket. */
const begin = String.raw`(?<=^\s*|[.!?:;]\s+|\(\s*)`;
const restOfStatement = String.raw`[^.?!]*(?:[.!]|$)`;

export const kinds: Record<string, Kind> = {
  "clause-as-subject": {
    pattern: new RegExp(
      `${begin}(?:[Ww]hat|Who|Whoever|Whatever|Whose|Whom) ${restOfStatement}`,
      "g",
    ),
    advice: "start with a noun: name the thing that acts",
  },
  "clause-as-noun": {
    pattern:
      /\b(?:of|from|with|for|by|to|and|as|than|in|on|at|is|are|was) (?:what|who|whom|whoever)\b(?! (?:to|the|is|are|it)\b[^.]*\?)/g,
    advice: "replace the clause by the noun that the field has",
  },
  "no-person": {
    pattern: /\b(?:nobody|somebody|no one|whoever|whomever)\b/gi,
    advice: "name who acts: caller, client, worker, user, reader",
  },
  "those-that": {
    pattern: /\b(?:those|ones?) (?:that|who|which|whose)\b/gi,
    advice: 'repeat the noun ("threads that …") instead of a pronoun',
  },
  "is-no": {
    pattern:
      /(?<!\b(?:there|There|it) )\b(?:is|are|was|were) no (?!longer\b|more\b|one\b|need\b)\w+/g,
    advice: 'write "is not a …", "no … found", "missing …" or "invalid …"',
  },
  history: {
    pattern: /\b(?:any ?more|used to be|formerly|at first it|was once|once was)\b/gi,
    advice: "describe what holds now; history belongs in the commit or an RFC",
  },
  archaic: {
    pattern:
      /\b(?:in vain|(?<!--)anew|whence|thereby|herein|foresee\w*|wherein|thereof|lest|amid|upon)\b/gi,
    advice: "use the plain word",
  },
};

const ruleOf =
  ({ pattern, advice }: Kind): TextlintRuleModule =>
  (context) => {
    const { Syntax, RuleError, report, locator } = context;
    return {
      [Syntax.Str](node) {
        const text = (node as { value?: string }).value ?? "";
        for (const { 0: found, index } of text.matchAll(pattern)) {
          const padding = locator.range([index, index + found.length]);
          report(
            node,
            new RuleError(`"${found.trim().replace(/\s+/g, " ").slice(0, 60)}": ${advice}`, {
              padding,
            }),
          );
        }
      },
    };
  };

export const rules = Object.entries(kinds).map(([ruleId, kind]) => ({
  ruleId,
  rule: ruleOf(kind),
}));
