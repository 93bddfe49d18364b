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

export function readDraft(key: string): Draft {
  try {
    const text = localStorage.getItem(typedKey(key)) ?? localStorage.getItem(key);
    return { text, base: localStorage.getItem(baseKey(key)) };
  } catch {
    return { text: null, base: null };
  }
}

export function forget(key: string): void {
  try {
    for (const one of [key, typedKey(key), baseKey(key)]) localStorage.removeItem(one);
  } catch {
    // The browser stores nothing, so there is nothing to remove.
  }
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

type KeptDraft = {
  /** Writes the draft now, over a draft of another tab. */
  keep: () => void;
  stop: () => void;
};

/** Stores the draft of a document shortly after each change and when the page is left. */
export function keepDraft(document: EditedDocument, options: Options): KeptDraft {
  const { key, base, onOther, onFailure } = options;
  let kept: string | null = document.state().text;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    const { text, broken } = document.state();
    if (text === kept) return;
    try {
      localStorage.setItem(broken ? typedKey(key) : key, text);
      if (!broken) localStorage.removeItem(typedKey(key));
      const began = base();
      if (began !== null) localStorage.setItem(baseKey(key), began);
      kept = text;
    } catch {
      kept = text;
      onFailure(
        "Drafts can't be stored: this browser's storage is full or disabled. Save or export your work.",
      );
    }
  };
  const { unsubscribe } = document.store.subscribe(({ text }) => {
    if (text !== kept) timer ??= setTimeout(write, writeAfterMs);
  });
  const onStorage = (event: StorageEvent) => {
    const isOwn = event.key !== key || event.newValue === null;
    if (isOwn || event.newValue === document.state().text || event.newValue === null) return;
    onOther(event.newValue);
  };
  addEventListener("storage", onStorage);
  addEventListener("pagehide", write);
  addEventListener("beforeunload", write);
  return {
    keep() {
      kept = null;
      write();
    },
    stop() {
      write();
      unsubscribe();
      removeEventListener("storage", onStorage);
      removeEventListener("pagehide", write);
      removeEventListener("beforeunload", write);
    },
  };
}
