import { useSelector } from "@tanstack/react-store";
import { createContext, useContext } from "react";
import type { DocumentState, EditedDocument } from "./document.ts";

export const DocumentContext = createContext<EditedDocument | null>(null);

/** The document of the surrounding editor. */
export function useEdited(): EditedDocument {
  const document = useContext(DocumentContext);
  if (!document) throw new Error("used outside of an editor");
  return document;
}

/** Subscribes to a part of a document's state. `part` must return the same object for the same state. */
export const useDocumentPart = <Part>(
  document: EditedDocument,
  part: (state: DocumentState) => Part,
): Part => useSelector(document.store, part);
