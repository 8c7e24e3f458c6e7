-- Eras in which a collection has no document any more that may go to an archive: nobody asks for them again.
CREATE TABLE eras_asked (
    component  TEXT    NOT NULL,
    collection TEXT    NOT NULL,
    era        INTEGER NOT NULL,
    PRIMARY KEY (component, collection, era)
) WITHOUT ROWID;
