import { readStored, store } from "../../lib/stored.ts";
import type { EditedDocument } from "./document.ts";

/** The stored state of an unsaved document. */
type Draft = {
  /** The newest text, even if it is not valid JSON. */
  text: string | null;
  /** The version that the draft is based on; null for a new document. */
  base: string | null;
};

// Other programs may read the document; this key is for this editor only.
const typedKey = (key: string): string => `${key}-text`;
const baseKey = (key: string): string => `${key}-base`;

export const readDraft = (key: string): Draft => ({
  text: readStored(typedKey(key)) ?? readStored(key),
  base: readStored(baseKey(key)),
});

export function forget(key: string): void {
  for (const one of [key, typedKey(key), baseKey(key)]) store(one, null);
}

const writeAfterMs = 500;

type Options = {
  key: string;
  /** The version that the text is based on. */
  base: () => string | null;
  /** Called when another tab has written another text. */
  onOther: (text: string) => void;
  /** Called with the reason when the draft can't be stored. */
  onFailure: (message: string) => void;
};

/** Stores the draft of a document shortly after each change and when the page is left. */
export function keepDraft(document: EditedDocument, options: Options) {
  const { key, base, onOther, onFailure } = options;
  let kept: string | null = document.state().text;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    const { text, broken } = document.state();
    if (text === kept) return;
    kept = text;
    const began = base();
    if (!broken) store(typedKey(key), null);
    if (began !== null) store(baseKey(key), began);
    if (store(broken ? typedKey(key) : key, text)) return;
    onFailure(
      "Drafts can't be stored: this browser's storage is full or disabled. Save or export your work.",
    );
  };
  const { unsubscribe } = document.store.subscribe(({ text }) => {
    if (text !== kept) timer ??= setTimeout(write, writeAfterMs);
  });
  const onStorage = (event: StorageEvent) => {
    const { newValue } = event;
    if (event.key === key && newValue !== null && newValue !== document.state().text)
      onOther(newValue);
  };
  const left = new AbortController();
  addEventListener("storage", onStorage, left);
  addEventListener("pagehide", write, left);
  addEventListener("beforeunload", write, left);
  return {
    /** Writes the draft now, over a draft of another tab. */
    keep() {
      kept = null;
      write();
    },
    stop() {
      write();
      unsubscribe();
      left.abort();
    },
  };
}
