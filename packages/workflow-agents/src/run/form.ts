/** A check of a conversation's last answer. */
export type AnswerCheck = {
  /** Returns the problems of an answer, one line each. */
  problemsOf: (text: string) => Promise<string[]>;
  /** Maximum repeated requests for an answer that does not fit. */
  repairs: number;
  /** Returns the request after an answer with problems. */
  again: (problems: readonly string[]) => string;
};

/**
 * The required form of a role's answer. The role requests the form in the system prompt. An agent whose provider has a
 * structured-output mode removes that text, and passes the schema to the provider.
 */
export type AnswerForm = AnswerCheck & {
  /** A JSON Schema of the fields. */
  schema: object;
  /** Whether the answer is only the fields; otherwise a text that ends with the fields. */
  isAlone: boolean;
  /** The last answer of an agent that repeats requests itself, in its own conversation. */
  settled?: string;
};

/** The instruction about the form in a system prompt. */
const instructionOf = (schema: object): string =>
  `\n\nEnd your answer with one JSON code block, the only one, that fits this JSON Schema:\n${JSON.stringify(schema)}`;

export const withInstruction = (systemPrompt: string, schema: object): string =>
  systemPrompt + instructionOf(schema);

/**
 * Returns a system prompt without the instruction about the form; null if the prompt has no instruction, because this
 * answer then needs no form.
 */
export function withoutInstruction(systemPrompt: string, { schema }: AnswerForm): string | null {
  const instruction = instructionOf(schema);
  const isAsked = systemPrompt.includes(instruction);
  return isAsked ? systemPrompt.replace(instruction, () => "") : null;
}

/** Returns the request after an answer that does not fit. */
export function againText(
  problems: readonly string[],
  form: Pick<AnswerForm, "isAlone" | "schema"> | null,
): string {
  // Not every server shows the schema to its model.
  const how = form?.isAlone
    ? `as JSON alone that fits this JSON Schema:\n${JSON.stringify(form.schema)}`
    : "with one JSON code block that fits.";
  return `The answer does not fit the JSON Schema:\n${problems.join("\n")}\n\nGive the whole answer once more, ${how}`;
}

/** Returns the event text for an answer that does not fit. */
export const mismatchNote = (problems: readonly string[]): string =>
  `the answer does not fit, and is asked for again: ${problems.join("\n")}`;
