import type { AttemptError } from "@uncaged/workflow/records";

const plainName = /^[\p{L}\p{N}_@][\p{L}\p{N} _.:/@$()+-]{0,127}$/u;
const errorName = /^[A-Za-z_$][\w.$-]{0,99}$/;

/**
 * Returns a name for an attribute; `_OTHER` for a name with unusual characters. Models choose the names of tools, so a
 * name can contain any text.
 */
export const nameOf = (text: string): string => (plainName.test(text) ? text : "_OTHER");

/** Returns the type of an error. Omits the message, because it may contain prompts. */
export function errorTypeOf({ code, name }: Pick<AttemptError, "code" | "name">): string {
  const type = code ?? name;
  return errorName.test(type) ? type : "_OTHER";
}

/** The providers of the semantic conventions, each with a pattern for its model names. */
const providers: readonly (readonly [RegExp, string])[] = [
  [/(^|[/.])claude/, "anthropic"],
  [/(^|\/)(gpt|chatgpt|o\d|codex|davinci)/, "openai"],
  [/(^|\/)(gemini|gemma)/, "gcp.gemini"],
  [/(^|\/)(mistral|mixtral|codestral|ministral|magistral)/, "mistral_ai"],
  [/(^|\/)deepseek/, "deepseek"],
  [/(^|\/)grok/, "x_ai"],
  [/(^|\/)command/, "cohere"],
];

/** Returns the provider of a model. The records contain only the model's name; for an unknown name, returns `_OTHER`. */
export const providerOf = (model: string): string =>
  providers.find(([pattern]) => pattern.test(model))?.[1] ?? "_OTHER";
