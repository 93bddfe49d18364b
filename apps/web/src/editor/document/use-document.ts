import { useSelector } from "@tanstack/react-store";
import { createContext, useContext } from "react";
import type { Actions } from "../canvas/actions.ts";
import type { DocumentState, EditedDocument } from "./document.ts";

type Editing = { document: EditedDocument; actions: Actions; isReadOnly: boolean };

export const EditorContext = createContext<Editing | null>(null);

/** The document, the actions and the mode of the surrounding editor. */
export function useEditor(): Editing {
  const editor = useContext(EditorContext);
  if (!editor) throw new Error("used outside of an editor");
  return editor;
}

/** The document of the surrounding editor. */
export const useEdited = (): EditedDocument => useEditor().document;

/** Subscribes to a part of a document's state. `part` must return the same object for the same state. */
export const useDocumentPart = <Part>(
  document: EditedDocument,
  part: (state: DocumentState) => Part,
): Part => useSelector(document.store, part);
