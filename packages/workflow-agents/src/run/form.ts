/**
 * The form that a role's answer must have. The role asks for it in the system prompt; an agent whose provider has a
 * mode of its own for it takes that text out again, and gives the provider the schema.
 */
export type AnswerForm = {
  /** A JSON Schema of the fields. */
  schema: object;
  /** Whether the answer is the fields alone; else a text that ends with them. */
  isAlone: boolean;
  /** Returns the problems of an answer, one line each. */
  problemsOf: (text: string) => Promise<string[]>;
  /** How often an answer that does not fit is asked for again. */
  repairs: number;
  /** The last answer of an agent that asks again itself, in its own conversation. */
  settled?: string;
};

/** The instruction about the form in a system prompt. */
const instructionOf = (schema: object): string =>
  `\n\nEnd your answer with one JSON code block, the only one, that fits this JSON Schema:\n${JSON.stringify(schema)}`;

export const withInstruction = (systemPrompt: string, schema: object): string =>
  systemPrompt + instructionOf(schema);

/** A system prompt without what it says of the form; null when it says nothing: then this answer need not have it. */
export function withoutInstruction(systemPrompt: string, { schema }: AnswerForm): string | null {
  const instruction = instructionOf(schema);
  const isAsked = systemPrompt.includes(instruction);
  return isAsked ? systemPrompt.replace(instruction, () => "") : null;
}

/** The request after an answer that does not fit. */
export function againText(problems: readonly string[], form: AnswerForm | null): string {
  // Not every server shows its model the schema that it is given.
  const how = form?.isAlone
    ? `as JSON alone that fits this JSON Schema:\n${JSON.stringify(form.schema)}`
    : "with one JSON code block that fits.";
  return `The answer does not fit the JSON Schema:\n${problems.join("\n")}\n\nGive the whole answer once more, ${how}`;
}

/** The event's text of an answer that does not fit. */
export const mismatchNote = (problems: readonly string[]): string =>
  `the answer does not fit, and is asked for again: ${problems.join("\n")}`;
