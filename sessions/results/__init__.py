"""The folder that an identification leaves; each of its files has one reader and one writer here.

    result.json, m1.json … m6.json   what was found                          `identification`
    identification.json              what was asked of which runs            `record`
    study.journal                    the search                              `core.identification.search.study`
    crossvalidation.json             errors on held-out conditions           `crossvalidating`
    certainty.json                   profiles and bootstrap of one model     `certifying`

A session keeps the folders of its own identifications under `results/` (`folder`). `identifying`, `crossvalidating` and
`certifying` compute from a session's runs to these files, the same for the window and the command line.
"""
