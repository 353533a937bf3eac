// The files of sdk/tools/report, which are compiled in.
#pragma once

namespace tenon::tool::report_files {

extern const char* const page_html;
extern const char* const page_css;
extern const char* const charts_js;
extern const char* const graph_js;
extern const char* const page_js;

}  // namespace tenon::tool::report_files
