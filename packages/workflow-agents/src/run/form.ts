/** A check of a conversation's last answer. */
export type AnswerCheck = {
  /** Returns the problems of an answer, or an empty list if the answer fits. */
  problemsOf: (text: string) => Promise<string[]>;
  /** Maximum number of repeated requests for an answer that does not fit. */
  repairs: number;
  /** Returns the message to the model after an answer with problems. */
  again: (problems: readonly string[]) => string;
};

/**
 * The required form of a role's answer. The role's system prompt contains an instruction about the form. An agent whose
 * provider has a structured-output mode removes the instruction, and passes the schema to the provider.
 */
export type AnswerForm = AnswerCheck & {
  /** A JSON Schema of the fields. */
  schema: object;
  /** Whether the answer is only the fields, instead of text that ends with the fields. */
  isAlone: boolean;
  /** The last answer of an agent that itself repeats requests in its conversation. */
  settled?: string;
};

/** Returns the instruction about the form for a system prompt. */
const instructionOf = (schema: object): string =>
  `\n\nEnd your answer with one JSON code block, the only one, that fits this JSON Schema:\n${JSON.stringify(schema)}`;

export const withInstruction = (systemPrompt: string, schema: object): string =>
  systemPrompt + instructionOf(schema);

/**
 * Returns a system prompt without the instruction about the form. Returns null if the prompt does not have the
 * instruction, because the answer then does not need a form.
 */
export function withoutInstruction(systemPrompt: string, { schema }: AnswerForm): string | null {
  const instruction = instructionOf(schema);
  const isAsked = systemPrompt.includes(instruction);
  return isAsked ? systemPrompt.replace(instruction, () => "") : null;
}

/** Returns the message to the agent after an answer that does not fit. */
export function againText(
  problems: readonly string[],
  form: Pick<AnswerForm, "isAlone" | "schema"> | null,
): string {
  // Some servers do not show the schema to the model.
  const how = form?.isAlone
    ? `as JSON alone that fits this JSON Schema:\n${JSON.stringify(form.schema)}`
    : "with one JSON code block that fits.";
  return `The answer does not fit the JSON Schema:\n${problems.join("\n")}\n\nGive the whole answer once more, ${how}`;
}

/** Returns the event text for an answer that does not fit. */
export const mismatchNote = (problems: readonly string[]): string =>
  `the answer does not fit the schema and is requested again: ${problems.join("\n")}`;
