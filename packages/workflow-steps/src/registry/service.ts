import { type Declaration, invalid } from "./declaration.ts";
import { canonicalType } from "./value-type.ts";

/** What a service takes and gives. */
export type ServiceSignature = {
  name: string;
  params: Pick<Declaration, "name" | "type">[];
  returns: Pick<Declaration, "name" | "type">[];
};

const head = /\s*([\p{ID_Continue}]+)\s*\(/uy;
const item = /\s*([\p{ID_Start}_][\p{ID_Continue}]*)\s*\(([^()]*)\)\s*/uy;
const returnWord = /\s*RETURN\s+/iy;
const end = /\s*$/y;
const hint = 'write "Name(a(TYPE), b(TYPE)) RETURN r(TYPE)"';

/**
 * Reads the signature of a service: `Name(p(T), q(T)) RETURN r(T)`. What it returns may be missing, or
 * be several. Throws a `WorkflowError` (`DECLARATION_INVALID`) that quotes the signature.
 */
export function parseServiceSignature(text: string): ServiceSignature {
  if (typeof text !== "string") throw invalid(text, "it is no text", hint);
  const reader = new Reader(text);
  const [, name] = reader.take(head, "it has no name and (");
  const params = reader.at(")") ? [] : reader.items();
  reader.close();
  const returns = reader.takes(returnWord) ? reader.items() : [];
  reader.take(end, "more follows than a signature has");
  return { name: name ?? "", params, returns };
}

class Reader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  take(pattern: RegExp, message: string): RegExpExecArray {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text);
    if (!found) throw invalid(this.#text, message, hint);
    this.#position += found[0].length;
    return found;
  }

  takes(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#position += length;
    return length > 0;
  }

  at(sign: string): boolean {
    this.takes(/\s+/y);
    return this.#text[this.#position] === sign;
  }

  close(): void {
    if (!this.at(")")) throw invalid(this.#text, 'the "(" has no ")"', hint);
    this.#position += 1;
  }

  items(): ServiceSignature["params"] {
    const items: ServiceSignature["params"] = [];
    do {
      const [, name = "", type = ""] = this.take(item, "a name with its (TYPE) is missing");
      items.push({ name, type: canonicalType(type) });
    } while (this.takes(/,/y));
    return items;
  }
}
