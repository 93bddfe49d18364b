import type { EditedDocument } from "./document.ts";

/** Where a draft is kept: a browser's storage, or what stands for it. */
export type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The browser's own. Where that is switched off it fails when it is used, and not before. */
export const browserStorage: DraftStorage = {
  getItem: (name) => localStorage.getItem(name),
  setItem: (name, value) => localStorage.setItem(name, value),
  removeItem: (name) => localStorage.removeItem(name),
};

/** What a browser keeps of a document until it is saved. */
type Draft = {
  /** The newest text, even one that is no JSON. */
  text: string | null;
  /** The version that it began with; null for none. */
  base: string | null;
};

// Beside the document itself, which others may read, is what only this editor needs.
const typedKey = (key: string): string => `${key}-text`;
const baseKey = (key: string): string => `${key}-base`;

export function readDraft(storage: DraftStorage, key: string): Draft {
  try {
    const text = storage.getItem(typedKey(key)) ?? storage.getItem(key);
    return { text, base: storage.getItem(baseKey(key)) };
  } catch {
    return { text: null, base: null };
  }
}

export function forget(storage: DraftStorage, key: string): void {
  try {
    for (const one of [key, typedKey(key), baseKey(key)]) storage.removeItem(one);
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
}

const writeAfterMs = 500;

type Options = {
  key: string;
  storage: DraftStorage;
  /** The version that the text began with. */
  base: () => string | null;
  /** Another tab has written another text. */
  onOther: (text: string) => void;
  /** Nothing can be kept, and why. */
  onFailure: (message: string) => void;
};

type KeptDraft = {
  /** Writes the draft now, over what another tab has written. */
  keep: () => void;
  stop: () => void;
};

/** Keeps the draft of a document up to date: soon after a change, and when the page is left. */
export function keepDraft(document: EditedDocument, options: Options): KeptDraft {
  const { key, storage, base, onOther, onFailure } = options;
  let kept: string | null = document.state().text;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    const { text, broken } = document.state();
    if (text === kept) return;
    try {
      storage.setItem(broken ? typedKey(key) : key, text);
      if (!broken) storage.removeItem(typedKey(key));
      const began = base();
      if (began !== null) storage.setItem(baseKey(key), began);
      kept = text;
    } catch {
      kept = text;
      onFailure(
        "This browser keeps no draft: its storage is full or switched off. Save or export your work.",
      );
    }
  };
  const unsubscribe = document.onText(() => {
    timer ??= setTimeout(write, writeAfterMs);
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
