// Analyses statements by GoogleSQL's own analyzer, which is the front end of BigQuery: given as JSON on standard
// input, together with the tables; prints why a statement is refused, by its name. It takes 15 minutes to build:
//
//	go build -C benchmarks/googlesql -o ~/.cache/turnwise-benchmarks/googlesql
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/goccy/go-googlesql"
)

type input struct {
	Tables     map[string][][2]string // column and type; REPEATED_ before it: an array
	Statements map[string]string
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func main() {
	var given input
	must(json.NewDecoder(os.Stdin).Decode(&given))
	must(googlesql.Init())
	catalog, err := googlesql.NewSimpleCatalog("bigquery", nil)
	must(err)
	language, err := googlesql.NewLanguageOptions()
	must(err)
	must(language.EnableMaximumLanguageFeatures())
	must(language.SetProductMode(googlesql.ProductModeProductExternal))
	must(language.SetSupportsAllStatementKinds())
	must(catalog.AddBuiltinFunctionsAndTypes(&googlesql.BuiltinFunctionOptions{LanguageOptions: language}))
	options, err := googlesql.NewAnalyzerOptions2()
	must(err)
	must(options.SetLanguage(language))
	types, err := googlesql.NewTypeFactory()
	must(err)
	kinds := map[string]googlesql.TypeKind{
		"STRING": googlesql.TypeKindTypeString, "INTEGER": googlesql.TypeKindTypeInt64, "FLOAT": googlesql.TypeKindTypeDouble,
		"BOOLEAN": googlesql.TypeKindTypeBool, "DATE": googlesql.TypeKindTypeDate,
	}
	for name, columns := range given.Tables {
		table, err := googlesql.NewSimpleTable(name, 0)
		must(err)
		for _, column := range columns {
			kind, isList := column[1], false
			if len(kind) > 9 && kind[:9] == "REPEATED_" {
				kind, isList = kind[9:], true
			}
			type_, err := types.MakeSimpleType(kinds[kind])
			must(err)
			if isList {
				type_, err = types.MakeArrayType2(type_)
				must(err)
			}
			made, err := googlesql.NewSimpleColumn(name, column[0], type_, false, true)
			must(err)
			must(table.AddColumn2(made, false))
		}
		must(catalog.AddTable(table))
	}
	faults := map[string]string{}
	for name, sql := range given.Statements {
		if _, err := googlesql.AnalyzeStatement(sql, options, catalog, types); err != nil {
			faults[name] = err.Error()
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(faults))
}
