"""The result folder of an identification; each of its files has one reader and one writer here.

    result.json, m1.json … m6.json   identified models and their errors      `identification`
    identification.json              request and runs                        `record`
    diagnosis.json                   what the runs show about the result     `identification`
    study.journal                    the search                              `core.identification.search.study`
    crossvalidation.json             errors on held-out conditions           `crossvalidating`
    certainty.json                   profiles and bootstrap of one model     `certifying`

A session keeps the folders of its own identifications under `results/` (`folder`). `identifying`, `crossvalidating` and
`certifying` compute these files from a session's runs, the same for the window and the command line.
"""
